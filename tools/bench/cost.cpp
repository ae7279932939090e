#include <fmt/format.h>

#include <set>

#include "quern/plan/cost_model.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchCostArguments {
  CommonOptions common;
  std::vector<std::string> train, test;
  std::string output;
};

std::size_t leaves_of(const ModelTree& tree) {
  return static_cast<std::size_t>(
      std::count_if(tree.nodes.begin(), tree.nodes.end(), [](const ModelTreeNode& node) { return node.is_leaf(); }));
}

/// The classes of queries that any function was tested with: columns of the table.
std::set<std::uint64_t> classes_of(std::span<const CostError> tested) {
  std::set<std::uint64_t> classes;
  for (const CostError& error : tested)
    for (const CostClass& one : error.classes) classes.insert(one.from);
  return classes;
}

Row row_of(const CostFunction& function, const CostError& tested, const std::set<std::uint64_t>& classes) {
  Row row = {{"device", name_of_value(processor_names, function.device), "device"},
             {"algorithm", function.algorithm, "algorithm"},
             {"strategy", function.strategy.empty() ? Json() : Json(function.strategy), "strategy"},
             {"k", function.k, "k"},
             {"batch", function.batch, "batch"},
             {"queries", function.queries, "queries"},
             {"leaves", leaves_of(function.tree), "leaves"},
             {"tested_queries", tested.queries, "tested"},
             {"mean_relative_error", tested.queries > 0 ? Json(tested.error) : Json(), "error", "{:.1f} %", 100}};
  Json all = Json::array();
  for (const std::uint64_t from : classes) {
    Figure& cell = row.emplace_back(Figure{"", {}, fmt::format(">= {}", from), "{:.1f} %", 100});
    for (const CostClass& one : tested.classes) {
      if (one.from != from) continue;
      cell.value = one.error;
      all.push_back({{"postings_from", from}, {"queries", one.queries}, {"mean_relative_error", one.error}});
    }
  }
  row.push_back({"classes", std::move(all)});
  return row;
}

void run(const BenchCostArguments& arguments) {
  make_resources(arguments.common);
  std::unique_ptr<TextOutput> output;
  if (!arguments.output.empty()) output = std::make_unique<TextOutput>(arguments.output, arguments.common.force);
  BenchReport report("cost", arguments.common);
  CostTable table = fit_costs(read_times(arguments.train));
  const std::vector<QueryTimeTable> tests = read_times(arguments.test);
  report.json.update(
      {{"index_hash", table.index_hash}, {"scoring", table.scoring}, {"cpu", table.cpu}, {"gpu", table.gpu}});
  std::vector<CostError> tested;
  for (CostFunction& function : table.functions) {
    const CostError& error = tested.emplace_back(test_costs(function, tests));
    if (error.queries > 0) function.error = error.error;
  }
  const std::set<std::uint64_t> classes = classes_of(tested);
  for (std::size_t i = 0; i < tested.size(); ++i)
    report.add("functions", row_of(table.functions[i], tested[i], classes));
  if (output) {
    output->write(cost_table_text(table));
    output->finish();
  }
  report.print_table();
  report.finish();
}

}  // namespace

void add_cost_bench(CLI::App& bench) {
  auto [command, arguments] = add_bench<BenchCostArguments>(
      bench, "cost", "Fit functions that predict how long a query takes, and test them", run);
  add_input_option(command, "TIMES", arguments.train, "",
                   "Query times of one index to fit to, from quern bench query --times or bench gpu --times")
      ->required();
  add_input_option(command, "--test", arguments.test, "FILE", "Times of other queries to compare predictions with");
  add_output_option(command, "-o,--output", arguments.output, "FILE", "Write the functions to this file");
  command.add_flag("--force", arguments.common.force, "Overwrite existing output");
  set_notes(command,
            {"A regression tree with linear models in its leaves (M5) for each device, algorithm, strategy, k and "
             "batch size predicts the logarithm of a query's time from those of the number of its terms, of its "
             "shortest and second shortest list, of all its postings, and of the bytes not in GPU memory (Ding et al. "
             "2009). Errors are means of |predicted - measured| / measured, overall and by the query's postings."},
            {{"quern bench query my.quern -q train.txt -k 10 --times train.tsv"},
             {"quern bench query my.quern -q test.txt -k 10 --times test.tsv"},
             {"quern bench cost train.tsv --test test.tsv -o my.costs"}});
}

}  // namespace quern::tools
