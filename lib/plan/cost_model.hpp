#pragma once
#include <atomic>
#include <cmath>
#include <iterator>
#include <map>

#include "quern/formats/index_file.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/plan/schedule_policy.hpp"
#include "quern/search/query_engine.hpp"

/// Predicts the time of a query on a device (Ding et al. 2009, section 5: M5 on the lengths of its lists).
namespace quern {

/// The prediction of a function, in microseconds.
double cost_us(const CostFunction& function, const QueryFeatures& features);

/// The common origin. Throws InvalidArgument if index, scoring, CPU or GPU differ.
TimesOrigin check_same_origin(std::span<const TimesOrigin> origins);
TimesOrigin check_same_origin(std::span<const QueryTimeTable> times);

/// Fits a function for each device, algorithm, strategy, k and batch in the times, in their order. For batches with a
/// measured rate, the target is the time that a query adds to consecutive batches. Throws InvalidArgument if origins
/// differ or there are no rows.
CostTable fit_costs(std::span<const QueryTimeTable> times);

/// Prediction error over queries with a similar number of postings.
struct CostClass {
  std::uint64_t from = 0;  ///< lowest number of postings
  std::uint64_t queries = 0;
  double error = 0;  ///< mean of |predicted - measured| / measured
};

struct CostError {
  std::uint64_t queries = 0;
  double error = 0;
  std::vector<CostClass> classes;  ///< without empty classes
};

/// The error of a function's predictions against fit_costs()'s targets for the same device, algorithm, strategy, k and
/// batch; 0 queries if the tables have none.
CostError test_costs(const CostFunction& function, std::span<const QueryTimeTable> times);

/// The workload to predict a query's time for.
struct CostQuestion {
  Processor device = Processor::cpu;
  std::string_view algorithm, strategy;  ///< empty strategy: the CPU
  std::size_t k = 10;
  std::size_t batch = 1;  ///< queries answered together
};

/// Predicts the times of queries for one CostQuestion: in microseconds, the query's share if several are answered
/// together.
using CostPredictor = std::function<double(const QueryFeatures& features)>;

/// Predicts the time of any query: by the functions of a table or, for devices and algorithms that it lacks, by
/// built-in costs.
class CostModel {
 public:
  /// Uses built-in costs only.
  CostModel() = default;
  explicit CostModel(CostTable table) : table_(std::move(table)) {}

  /// The function for the device, algorithm and strategy with the nearest k and batch; null if there is none.
  const CostFunction* find(const CostQuestion& question) const;
  /// For many queries. The model must outlive the predictor and must not move.
  CostPredictor predictor(const CostQuestion& question) const;
  double expected_us(const CostQuestion& question, const QueryFeatures& features) const {
    return predictor(question)(features);
  }

 private:
  CostTable table_;
};

/// Learns how much longer queries take on a device than predicted, since costs may be built in or out of date.
/// Thread-safe; of two concurrent updates, one may be lost.
class CostCorrection {
 public:
  /// The factor for predictions.
  double factor() const { return std::exp2(log_factor_.load(std::memory_order_relaxed)); }
  /// Learns from a query that took `took_us`; `predicted_us` is its prediction without the factor. Both are above 0.
  /// Many queries may be predicted before the first one is learned from.
  void learn(double predicted_us, double took_us) {
    // A small, clamped step, so that an interrupted query has little effect.
    constexpr double step = 1.0 / 16;
    const double now = log_factor_.load(std::memory_order_relaxed);
    const double off = std::clamp(std::log2(took_us / predicted_us) - now, -1.0, 1.0);
    log_factor_.store(std::clamp(now + step * off, -max_log_factor, max_log_factor), std::memory_order_relaxed);
  }

 private:
  static constexpr double max_log_factor = 10;

  std::atomic<double> log_factor_ = 0;  ///< of base 2
};

// Features of a query from which its time is predicted before it runs.

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
  double alone_us(const QueryFeatures& features) const { return alone_(features); }

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

// Regression trees with linear models in their leaves: M5 (Quinlan 1992: Learning with continuous classes), with the
// simpler models, pruning and smoothing of M5' (Wang and Witten 1997: Inducing model trees for continuous classes).

struct TreeSample {
  CostInput input;
  double target = 0;
};

/// Fits a tree, deterministically. Inputs and targets must be finite. Throws InvalidArgument without samples.
ModelTree fit_model_tree(std::span<const TreeSample> samples);

/// A linear model and its error on the samples.
struct FittedModel {
  LinearCost model;
  double error = 0;  ///< mean absolute residual, times a penalty for its parameters
};

/// Fits by least squares, and drops inputs as long as the error does not grow: Quinlan's (n + v) / (n − v) times the
/// mean absolute residual, with v parameters. `samples` has at least one.
FittedModel fit_linear(std::span<const TreeSample* const> samples);

}  // namespace quern
