#pragma once
#include "quern/formats/tables/query_times.hpp"

/// Cost tables: functions that predict a query's time on a device; see cost_file.md.
namespace quern {

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
