#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "quern/plan/cost_model.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "output_files.hpp"
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

Json function_json(const CostFunction& function, const CostError& tested) {
  Json json = {{"device", name_of_value(processor_names, function.device)},
               {"algorithm", function.algorithm},
               {"strategy", nullptr},
               {"k", function.k},
               {"batch", function.batch},
               {"queries", function.queries},
               {"leaves", leaves_of(function.tree)},
               {"tested_queries", tested.queries},
               {"mean_relative_error", nullptr},
               {"classes", Json::array()}};
  if (!function.strategy.empty()) json["strategy"] = function.strategy;
  if (tested.queries > 0) json["mean_relative_error"] = tested.error;
  for (const CostClass& of : tested.classes)
    json["classes"].push_back({{"postings_from", of.from}, {"queries", of.queries}, {"mean_relative_error", of.error}});
  return json;
}

/// Errors by class: those that any function was tested with are columns.
void print_functions(const Json& functions) {
  std::vector<std::uint64_t> classes;
  for (const Json& row : functions)
    for (const Json& of : row["classes"]) classes.push_back(of["postings_from"].get<std::uint64_t>());
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  print(fmt::format("{:<7}{:<10}{:<11}{:>6}{:>7}{:>9}{:>8}{:>9}{:>8}", "device", "algorithm", "strategy", "k", "batch",
                    "queries", "leaves", "tested", "error"));
  for (const std::uint64_t from : classes) print(fmt::format("{:>12}", fmt::format(">= {}", from)));
  print("\n");
  const auto percent = [](const Json& error) {
    return error.is_null() ? std::string("-") : fmt::format("{:.1f} %", 100 * error.get<double>());
  };
  for (const Json& row : functions) {
    print(fmt::format("{:<7}{:<10}{:<11}{:>6}{:>7}{:>9}{:>8}{:>9}{:>8}", row["device"].get<std::string>(),
                      row["algorithm"].get<std::string>(),
                      row["strategy"].is_null() ? "-" : row["strategy"].get<std::string>(),
                      row["k"].get<std::uint64_t>(), row["batch"].get<std::uint64_t>(),
                      row["queries"].get<std::uint64_t>(), row["leaves"].get<std::size_t>(),
                      row["tested_queries"].get<std::uint64_t>(), percent(row["mean_relative_error"])));
    for (const std::uint64_t from : classes) {
      const auto found = std::find_if(row["classes"].begin(), row["classes"].end(),
                                      [from](const Json& of) { return of["postings_from"] == from; });
      print(fmt::format("{:>12}", found == row["classes"].end() ? "-" : percent((*found)["mean_relative_error"])));
    }
    print("\n");
  }
}

void run(const BenchCostArguments& arguments) {
  make_resources(arguments.common);
  std::unique_ptr<TextOutput> output;
  if (!arguments.output.empty()) output = std::make_unique<TextOutput>(arguments.output, arguments.common.force);
  CostTable table = fit_costs(read_times(arguments.train));
  const std::vector<QueryTimeTable> tests = read_times(arguments.test);
  Json json = {{"bench", "cost"},
               {"index_hash", table.index_hash},
               {"scoring", table.scoring},
               {"cpu", table.cpu},
               {"gpu", table.gpu}};
  for (CostFunction& function : table.functions) {
    const CostError tested = test_costs(function, tests);
    if (tested.queries > 0) function.error = tested.error;
    json["functions"].push_back(function_json(function, tested));
  }
  if (output) {
    output->write(cost_table_text(table));
    output->finish();
  }
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_functions(json["functions"]);
}

}  // namespace

void add_cost_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchCostArguments>();
  CLI::App* command = bench.add_subcommand("cost", "Fit functions that predict how long a query takes, and test them");
  command
      ->add_option("TIMES", arguments->train,
                   "Query times of one index to fit to, from quern bench query --times or bench gpu --times")
      ->type_name("")
      ->required();
  command->add_option("--test", arguments->test, "Times of other queries to compare predictions with")
      ->type_name("FILE");
  mark_output(command->add_option("-o,--output", arguments->output, "Write the functions to this file"))
      ->type_name("FILE");
  command->add_flag("--force", arguments->common.force, "Overwrite existing output");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"A regression tree with linear models in its leaves (M5) for each device, algorithm, strategy, k and "
             "batch size predicts the logarithm of a query's time from those of the number of its terms, of its "
             "shortest and second shortest list, of all its postings, and of the bytes not in GPU memory (Ding et al. "
             "2009). Errors are means of |predicted - measured| / measured, overall and by the query's postings."},
            {{"quern bench query my.quern -q train.txt -k 10 --times train.tsv"},
             {"quern bench query my.quern -q test.txt -k 10 --times test.tsv"},
             {"quern bench cost train.tsv --test test.tsv -o my.costs"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
