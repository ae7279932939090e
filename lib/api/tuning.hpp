#pragma once
#include "quern/api/evaluation.hpp"

namespace quern::api {

/// A judged query to tune with. Refers to its arguments.
struct Topic {
  std::string_view qid;
  Query query;
};

/// What is tuned, and how points are measured: `quern tune`.
struct TuningOptions {
  // Values to try. A parameter without values keeps the index's; if none has any, k1 is 0.4, 0.8, …, 2 and b is 0.1,
  // 0.3, …, 0.9.
  std::vector<double> k1, b, alpha;
  /// Coordinate ascent from the start, instead of all combinations: tries the values of one parameter after the other.
  bool by_coordinates = false;
  std::optional<double> start_k1, start_b, start_alpha;  ///< none: the index's
  std::string measure = "map";                           ///< one of those of EvaluationOptions::measures
  std::int32_t relevance_level = 1;                      ///< as in EvaluationOptions, like the next three
  std::optional<std::uint64_t> depth;
  bool complete = false;
  unsigned trec_eval = 10;
  std::size_t k = 1000;     ///< results per query
  std::uint64_t folds = 0;  ///< of cross-validation, at least 2; 0: none
  Idf idf = Idf::lucene;
  Scorer scorer = Scorer::bm25;
};

/// Parameters, and the measure over all queries that count.
struct TunedPoint {
  double k1 = 0, b = 0, alpha = 0;  ///< alpha: of bm25_pagerank
  double value = 0;
};

/// A part of the queries, measured with the parameters that are best on the others.
struct TunedFold {
  std::uint64_t queries = 0;
  TunedPoint point;               ///< its value is that of the fold's queries
  double others = 0;              ///< the point's value on all other queries
  std::vector<std::string> qids;  ///< of the fold's topics
};

struct Tuning {
  std::string measure;             ///< as trec_eval names it
  std::vector<std::string> tuned;  ///< names of the parameters that had values to try
  std::vector<TunedPoint> points;  ///< in the grid's order: the last parameter changes first; or in that of the trials
  TunedPoint best;                 ///< the start unless another is better; of equal ones, the first
  TunedPoint start;                ///< the start's, or else the index's parameters
  std::vector<TunedFold> folds;
  std::optional<double> cross_validated;  ///< over all queries, each measured with its fold's parameters
  std::uint64_t queries = 0;              ///< that count
};

/// Finds the parameters of scores with which judged queries have the best results. Queries are in folds by the order of
/// their ids' bytes: 1, 2, …, 1, and so on. The values equal those of evaluate() for a run with these parameters.
/// Throws Error: invalid_argument for an index of stored weights, numbers out of range, a grid of more than 10,000
/// points, folds that the queries don't suffice for, and topics without judgements; wrong_usage for an unknown measure,
/// and alpha without Scorer::bm25_pagerank; corrupt_file and io.
QUERN_API Tuning tune(const Index& index, std::span<const Topic> topics, const std::string& qrels_path,
                      const TuningOptions& options = {}, const Work& work = {});

}  // namespace quern::api
