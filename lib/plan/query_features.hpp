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

/// Features of a query from which its time is predicted before it runs.
namespace quern {

/// Takes a further list of a query into its features.
void add_list(QueryFeatures& features, std::uint64_t postings, std::uint64_t blocks);

/// The features of a query. All 0 for an intersection of which the index lacks a term, since it reads no list. Throws
/// what IndexReader::find() throws.
QueryFeatures features_of(const IndexReader& index, QueryView query, Matching matching);
/// Those of a query over all shards of an index, whose engines remember its terms: each term's lists count as one.
QueryFeatures features_of(std::span<const QueryEngine* const> engines, QueryView query, Matching matching);

/// The algorithms of a stream's queries.
struct StreamWorkload {
  std::string_view algorithm, strategy;  ///< strategy: for GPUs
  std::size_t k = 10;
  std::size_t max_batch = 1;  ///< queries per GPU batch
};

/// Predicts queries' times for schedules.
class QueryPredictor {
 public:
  /// The costs must outlive the object and must not move.
  QueryPredictor(const CostModel& costs, const StreamWorkload& workload);
  /// A query with its features and predicted times, but without number, arrival and deadline.
  WaitingQuery predict(const QueryFeatures& features) const;
  /// Microseconds on an otherwise idle GPU.
  double alone_us(const QueryFeatures& features) const { return alone_.us(features); }

 private:
  CostPredictor cpu_, gpu_, alone_;
};

/// The overhead of a GPU batch by its number of queries: copies, kernel starts, and threads that wait for the longest
/// query of a small batch.
class BatchOverhead {
 public:
  /// None.
  BatchOverhead() = default;
  /// Microseconds by number of queries (at least 1); not negative.
  explicit BatchOverhead(std::map<std::size_t, double> us_by_queries) : points_(std::move(us_by_queries)) {}

  /// The overhead of `queries` queries: interpolated linearly, constant beyond the known numbers.
  double us(std::size_t queries) const {
    if (points_.empty()) return 0;
    const auto above = points_.lower_bound(queries);
    if (above == points_.end()) return points_.rbegin()->second;
    if (above == points_.begin()) return above->second;
    const auto& [low, low_us] = *std::prev(above);
    const double share = static_cast<double>(queries - low) / static_cast<double>(above->first - low);
    return low_us + share * (above->second - low_us);
  }

  /// Whether all times are finite.
  bool is_finite() const {
    return std::all_of(points_.begin(), points_.end(), [](const auto& point) { return std::isfinite(point.second); });
  }

 private:
  std::map<std::size_t, double> points_;
};

}  // namespace quern
