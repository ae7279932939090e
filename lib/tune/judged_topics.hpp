#pragma once
#include "quern/eval/run_evaluator.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/search/point_search.hpp"

/// Topics and their judgements, which are joined once for all points.
namespace quern {

/// A query to tune with.
struct TuningTopic {
  std::string_view qid;
  QueryView query;
};

/// The judgements of a query that counts.
struct JudgedTopic {
  std::string_view qid;                 ///< that of the topic; empty if there is none
  QueryView query;                      ///< empty if there is none
  std::vector<std::int32_t> judged;     ///< all relevances, highest first
  std::vector<docid_t> docids;          ///< of the judged documents in the index, ascending
  std::vector<std::int32_t> relevance;  ///< of these

  /// Of any document of the index.
  std::int32_t relevance_of(docid_t docid) const;
};

/// How topics are measured.
struct TopicMeasure {
  MeasureChoice measure;
  std::int32_t relevance_level = 1;
  std::uint64_t depth = std::numeric_limits<std::uint64_t>::max();
  TrecEval version = TrecEval::v10;
  bool complete = false;  ///< queries without results count, too
};

/// The queries that count, in the order in which RunEvaluator summarizes them: those with judgements and results, or
/// with `complete` all with judgements.
struct JudgedTopics {
  std::vector<JudgedTopic> topics;
  std::uint64_t unjudged = 0;         ///< topics without judgements, left out
  std::uint64_t without_results = 0;  ///< queries with judgements, but without results
};

/// Reads the judgements, and finds their documents. `has_results`: whether a query has any. Throws like RunRows;
/// InvalidArgument if two topics have the same id, if a judged document is in the index twice, if no query counts, or
/// if the memory is too small.
JudgedTopics join_topics(std::span<const TuningTopic> topics, const std::function<bool(QueryView)>& has_results,
                         ByteSource& qrels, const IndexShards& index, bool complete, const Resources& resources);

/// The values of a topic for each point, from what PointSearch finds.
std::vector<double> measure_topic(const JudgedTopic& topic, const PointSearch::Results& results,
                                  const IndexShards& index, const TopicMeasure& measure);

}  // namespace quern
