#pragma once
#include "quern/core/named.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {

/// The processor that answers queries.
enum class Processor { cpu, gpu };

constexpr Processor other_than(Processor processor) {
  return processor == Processor::cpu ? Processor::gpu : Processor::cpu;
}

inline constexpr NamedValue<Processor> processor_names[] = {
    {"cpu", Processor::cpu, "a thread of the CPU"},
    {"gpu", Processor::gpu, "a GPU"},
};

/// Reads a processor's column. Throws CorruptFile if it doesn't name one.
inline Processor read_processor(TabFields& row) {
  const std::string_view name = row.text();
  if (!has_named(processor_names, name)) row.fail("names a device other than cpu and gpu");
  return find_named(processor_names, name, "device").value;
}

/// The strategy's column; the CPU has no strategies.
inline std::string_view strategy_text(const std::string& strategy) {
  return strategy.empty() ? std::string_view("-") : std::string_view(strategy);
}
inline std::string read_strategy(TabFields& row) {
  const std::string_view name = row.text();
  return name == "-" ? std::string() : std::string(name);
}

/// The origin of measured times, or of those that costs were fitted to: the first lines, `#name<TAB>text`, of both
/// kinds of files.
struct TimesOrigin {
  std::string name;        ///< the file's name, for messages
  std::string index_hash;  ///< content hash of the index's container, 16 hexadecimal digits
  std::string scoring;     ///< a description
  std::string cpu, gpu;    ///< models; empty if unknown
};

/// Reads a header line into `origin`. Also returns true for comments; false for other lines.
bool read_head_line(std::string_view line, TimesOrigin& origin);

/// A line for each non-empty text except the name.
std::string head_lines_text(const TimesOrigin& origin);

/// Throws CorruptFile if the origin doesn't name an index. `what` names the file's content.
void check_has_index(const TimesOrigin& origin, std::string_view what);

// Measured times of single queries, and the features that a cost model predicts them from; see query_times.md.

/// Features that predict a query's time (Ding et al. 2009, section 5): the sizes of its lists, and how much of them the
/// GPU's memory lacks.
struct QueryFeatures {
  std::uint64_t terms = 0;          ///< distinct terms that the index contains
  std::uint64_t shortest = 0;       ///< postings of the shortest list; 0 without lists
  std::uint64_t second = 0;         ///< postings of the second shortest list; 0 if there is only one
  std::uint64_t postings = 0;       ///< of all its lists
  std::uint64_t blocks = 0;         ///< of all its lists
  std::uint64_t missing_bytes = 0;  ///< bytes of its lists that were copied to the GPU

  bool operator==(const QueryFeatures&) const = default;
};

struct QueryTime {
  std::uint64_t query = 0;  ///< number in the log, from 1
  Processor device = Processor::cpu;
  std::string algorithm;
  std::string strategy;     ///< of the GPU; empty for the CPU
  std::uint64_t k = 0;      ///< results
  std::uint64_t batch = 0;  ///< queries answered together; 1: it ran alone
  double us = 0;            ///< above 0; its share of the batch's time
  QueryFeatures features;
};

/// The throughput of a GPU for back-to-back batches.
struct BatchRate {
  std::string algorithm, strategy;
  std::uint64_t k = 0, batch = 0;  ///< results; queries per batch
  double per_second = 0;           ///< queries per second, above 0
};

struct QueryTimeTable : TimesOrigin {
  std::vector<BatchRate> rates;
  std::vector<QueryTime> rows;
};

/// Reads what query_times_text() wrote. `name` is the file's name in messages. Throws CorruptFile, with the line, if
/// something is missing or impossible.
QueryTimeTable parse_query_times(std::string_view text, std::string_view name);

/// All of a file's lines.
std::string query_times_text(const QueryTimeTable& times);

// Cost tables: functions that predict a query's time on a device; see cost_file.md.

/// Inputs of the functions, each as log2(value + 1).
inline constexpr std::array<std::string_view, 5> cost_inputs = {"terms", "shortest", "second", "postings", "missing"};
using CostInput = std::array<double, cost_inputs.size()>;

/// A weight per input, and a constant.
struct LinearCost {
  CostInput weights = {};
  double constant = 0;

  double at(const CostInput& input) const;
};

struct ModelTreeNode {
  /// Inner nodes: values up to the threshold go left. Children come after their parent.
  std::size_t input = 0;
  double threshold = 0;
  std::uint32_t left = 0, right = 0;  ///< both 0: a leaf
  /// Leaves: the model, and the bounds of its predictions.
  LinearCost model;
  double lowest = 0, highest = 0;

  bool is_leaf() const { return left == 0; }
};

/// A regression tree with linear models in its leaves.
struct ModelTree {
  std::vector<ModelTreeNode> nodes;  ///< the root comes first

  /// The tree's prediction. It must have a node.
  double at(const CostInput& input) const;
};

/// The cost of queries for one algorithm on one device.
struct CostFunction {
  Processor device = Processor::cpu;
  std::string algorithm, strategy;  ///< no strategy for the CPU
  std::uint64_t k = 0, batch = 0;   ///< results, and queries per batch
  std::uint64_t queries = 0;        ///< used for fitting
  std::optional<double> error;      ///< mean relative error on test queries, if measured
  ModelTree tree;                   ///< predicts log2 of a query's microseconds
};

struct CostTable : TimesOrigin {
  std::vector<CostFunction> functions;
};

/// Reads what cost_table_text() wrote. `name` is the file's name in messages. Throws CorruptFile, with the line, if
/// something is missing or impossible.
CostTable parse_cost_table(std::string_view text, std::string_view name);

/// All of a file's lines.
std::string cost_table_text(const CostTable& table);

}  // namespace quern
