#pragma once
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

/// A function for each device, algorithm, strategy, k and batch that the times have, in their order. Throws
/// InvalidArgument if they are not of one origin, or have no rows.
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

/// How far a function's predictions are off times of the same device, algorithm, strategy, k and batch; 0 queries if
/// the tables have none.
CostError test_costs(const CostFunction& function, std::span<const QueryTimeTable> times);

/// What is asked of a cost model besides the query.
struct CostQuestion {
  Processor device = Processor::cpu;
  std::string_view algorithm, strategy;  ///< no strategy for the CPU
  std::size_t k = 10;
  std::size_t batch = 1;  ///< queries that are answered together
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
  /// Microseconds; of a query's share, where several are answered together.
  double expected_us(const CostQuestion& question, const QueryFeatures& features) const;

 private:
  CostTable table_;
};

}  // namespace quern
