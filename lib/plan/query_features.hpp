#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "quern/formats/index_file.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/schedule_policy.hpp"
#include "quern/search/query_engine.hpp"

/// What the time of a query is predicted from, before it runs.
namespace quern {

/// Takes a further list of a query into its features.
void add_list(QueryFeatures& features, std::uint64_t postings, std::uint64_t blocks);

/// The features of a query. All 0 for an intersection of which the index lacks a term, since it reads no list. Throws
/// what IndexReader::find() throws.
QueryFeatures features_of(const IndexReader& index, QueryView query, Matching matching);
/// Those of a query over all shards of an index, whose engines remember its terms: each term's lists count as one.
QueryFeatures features_of(std::span<const QueryEngine* const> engines, QueryView query, Matching matching);

/// How the queries of a stream are answered.
struct StreamWorkload {
  std::string_view algorithm, strategy;  ///< the strategy is that of GPUs
  std::size_t k = 10;
  std::size_t max_batch = 1;  ///< queries that a GPU answers together
};

/// What schedules are told of queries.
class QueryPredictor {
 public:
  /// The costs must outlive it, and stay where they are.
  QueryPredictor(const CostModel& costs, const StreamWorkload& workload);
  /// A query's features, and what it is predicted to take. It has no number and no times of its own yet.
  WaitingQuery predict(const QueryFeatures& features) const;
  /// Microseconds on a GPU that answers nothing else.
  double alone_us(const QueryFeatures& features) const { return alone_.us(features); }

 private:
  CostPredictor cpu_, gpu_, alone_;
};

/// What a GPU's batch takes besides what its queries add, by their number: copies, kernels that start, and threads that
/// wait for the longest query of a small batch.
class BatchOverhead {
 public:
  /// None.
  BatchOverhead() = default;
  /// Microseconds by numbers of queries, at least 1; none is negative.
  explicit BatchOverhead(std::map<std::size_t, double> us_by_queries) : points_(std::move(us_by_queries)) {}

  /// Of so many queries: on the line between the numbers around it, and that of the nearest one beyond them.
  double us(std::size_t queries) const {
    if (points_.empty()) return 0;
    const auto above = points_.lower_bound(queries);
    if (above == points_.end()) return points_.rbegin()->second;
    if (above == points_.begin()) return above->second;
    const auto& [low, low_us] = *std::prev(above);
    const double share = static_cast<double>(queries - low) / static_cast<double>(above->first - low);
    return low_us + share * (above->second - low_us);
  }

  /// Whether all of these times are finite.
  bool is_finite() const {
    return std::all_of(points_.begin(), points_.end(), [](const auto& point) { return std::isfinite(point.second); });
  }

 private:
  std::map<std::size_t, double> points_;
};

}  // namespace quern
