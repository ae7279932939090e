#pragma once
#include "quern/tune/judged_topics.hpp"
#include "quern/tune/parameter_grid.hpp"

/// Finds the parameters of scores with which judged queries have the best results.
namespace quern {

struct TuningOptions {
  ParameterGrid grid;
  /// Coordinate ascent instead of the whole grid: from `start`, tries the values of one parameter after the other, and
  /// goes to the best, until none is better.
  bool by_coordinates = false;
  ScoringPoint start;    ///< whose value is reported in any case
  std::size_t k = 1000;  ///< results per query
  TopicMeasure measure;
  /// Cross-validation: the queries that count, in the order of their ids' bytes, are in the folds 1, 2, …, `folds`, 1,
  /// and so on; a fold's point is chosen on all other folds. 0: none.
  std::uint64_t folds = 0;
};

/// A point and the summary of its queries' values.
struct TunedPoint {
  ScoringPoint point;
  double value = 0;
};

struct TunedFold {
  std::uint64_t queries = 0;  ///< of the fold
  ScoringPoint point;         ///< the best on the others
  double others = 0;          ///< its value there
  double value = 0;           ///< its value on the fold
  /// Ids of the fold's topics: not of judged queries without one.
  std::vector<std::string_view> qids;
};

struct TuningReport {
  std::vector<TunedPoint> points;  ///< in the grid's order, or with coordinate ascent in that of the trials
  TunedPoint start, best;          ///< the start unless another is better; of equally good ones, the first
  std::vector<TunedFold> folds;
  double cross_validated = 0;                       ///< summary over all queries, each measured at its fold's point
  std::uint64_t queries = 0;                        ///< that count
  std::uint64_t unjudged = 0, without_results = 0;  ///< as in JudgedTopics
};

/// `engines`: of all shards of an index, with exact scores; `note_query` is called after each of them. The values equal
/// those of a run of each point's queries that RunEvaluator measures. Throws as check_grid(), join_topics() and
/// PointSearch do, and InvalidArgument for fewer than 2 folds or more of them than queries.
TuningReport tune(const std::vector<const QueryEngine*>& engines, const IndexShards& index,
                  std::span<const TuningTopic> topics, ByteSource& qrels, const TuningOptions& options,
                  const Resources& resources, const std::function<void()>& note_query);

}  // namespace quern
