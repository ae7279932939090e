#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/formats/tables/cost_file.hpp"
#include "quern/formats/tables/query_times.hpp"

/// How long a query will take on a device (Ding et al. 2009, section 5: M5 on the lengths of its lists).
namespace quern {

/// What cost functions read of a query's features.
CostInput cost_input(const QueryFeatures& features);
/// What a function predicts, in microseconds.
double cost_us(const CostFunction& function, const QueryFeatures& features);

/// What all of them say together. Throws InvalidArgument if they are not of one index and scoring, and of one CPU and
/// one GPU.
TimesOrigin check_same_origin(std::span<const TimesOrigin> origins);
TimesOrigin check_same_origin(std::span<const QueryTimeTable> times);

/// A function for each device, algorithm, strategy, k and batch that the times have, in their order. Of batches whose
/// rate the times have, it is what a query adds to those that follow each other. Throws InvalidArgument if they are not
/// of one origin, or have no rows.
CostTable fit_costs(std::span<const QueryTimeTable> times);

/// Queries with a like number of postings, and how far predictions were off.
struct CostClass {
  std::uint64_t from = 0;  ///< postings; up to the next class's
  std::uint64_t queries = 0;
  double error = 0;  ///< mean of |predicted - measured| / measured
};

struct CostError {
  std::uint64_t queries = 0;
  double error = 0;
  std::vector<CostClass> classes;  ///< those with queries
};

/// How far a function's predictions are off what fit_costs() takes of times of the same device, algorithm, strategy, k
/// and batch; 0 queries if the tables have none.
CostError test_costs(const CostFunction& function, std::span<const QueryTimeTable> times);

/// What is asked of a cost model besides the query.
struct CostQuestion {
  Processor device = Processor::cpu;
  std::string_view algorithm, strategy;  ///< no strategy for the CPU
  std::size_t k = 10;
  std::size_t batch = 1;  ///< queries that are answered together
};

/// What is known of no index and no machine: a fixed time for each query or batch, and one for each posting, or for
/// each document that an intersection looks up.
struct BuiltInCost {
  double fixed_us = 0, us = 0;
  bool looks_up = false;  ///< all terms are needed
};

/// Predicts how long queries take about which the same is asked.
class CostPredictor {
 public:
  /// By the function, which must outlive it; null: by what is built in.
  explicit CostPredictor(const CostFunction* function, const BuiltInCost& built_in = {})
      : function_(function), built_in_(built_in) {}
  /// Microseconds; of a query's share, where several are answered together.
  double us(const QueryFeatures& features) const;

 private:
  const CostFunction* function_;
  BuiltInCost built_in_;
};

/// Predictions for any query: by the functions of a table or, where it has none for a device and algorithm, by built-in
/// ones that know neither index nor machine.
class CostModel {
 public:
  /// All predictions are built in.
  CostModel() = default;
  explicit CostModel(CostTable table) : table_(std::move(table)) {}

  /// The function of the question's device, algorithm and strategy whose k and batch are nearest; null without any.
  const CostFunction* find(const CostQuestion& question) const;
  /// For many queries. The model must outlive it, and stay where it is.
  CostPredictor predictor(const CostQuestion& question) const;
  /// As CostPredictor::us().
  double expected_us(const CostQuestion& question, const QueryFeatures& features) const {
    return predictor(question).us(features);
  }

 private:
  CostTable table_;
};

/// How much longer queries take on a device than predicted, learned from those that it has answered: costs may have
/// been measured on another day, or be built in. Thread-safe; what two threads learn at the same time may count once.
class CostCorrection {
 public:
  /// By which predictions are to be multiplied.
  double factor() const { return std::exp2(log_factor_.load(std::memory_order_relaxed)); }
  /// A query took so long that was predicted, without the factor, to take `predicted_us`; both above 0. Many queries
  /// may have been predicted before the first of them is learned from.
  void learn(double predicted_us, double took_us) {
    // Each query counts as much as any other, so that one that was interrupted does not count for many.
    constexpr double step = 1.0 / 16;
    const double now = log_factor_.load(std::memory_order_relaxed);
    const double off = std::clamp(std::log2(took_us / predicted_us) - now, -1.0, 1.0);
    log_factor_.store(std::clamp(now + step * off, -most, most), std::memory_order_relaxed);
  }

 private:
  static constexpr double most = 10;

  std::atomic<double> log_factor_ = 0;  ///< of base 2
};

}  // namespace quern
