#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include "quern/measure/rerank_bench.hpp"
#include "quern/synth/synth_ranker.hpp"

#include "bench/bench.hpp"

namespace quern::tools {
namespace {

struct BenchRerankArguments {
  CommonOptions common;
  std::vector<std::string> rankers;
  std::uint32_t trees = 0;
  SynthRankerOptions synth;
  std::vector<std::size_t> documents = {1, 10, 50, 100, 500, 1000, 5000, 10000};
  unsigned repeats = 5;
};

/// A model with its name and size.
struct BenchedRanker {
  std::string name;
  RankerModel model;
  Json json;
};

BenchedRanker benched_trees(const BenchRerankArguments& arguments) {
  const std::string name = fmt::format("{} trees", arguments.trees);
  return {name,
          synth_trees(arguments.trees, arguments.synth),
          {{"ranker", name},
           {"trees", arguments.trees},
           {"leaves", arguments.synth.leaves},
           {"features", arguments.synth.features}}};
}

BenchedRanker benched_network(const SynthRankerShape& shape, const BenchRerankArguments& arguments) {
  Json json = {{"ranker", shape.name},
               {"buckets", shape.buckets},
               {"linear", shape.linear},
               {"log_linear", shape.log_linear},
               {"trees", shape.trees},
               {"leaves", arguments.synth.leaves},
               {"layers", shape.layers},
               {"hidden", arguments.synth.hidden},
               {"features", arguments.synth.features}};
  return {std::string(shape.name), synth_ranker(shape, arguments.synth), std::move(json)};
}

/// --ranker and --trees; without either all of the registry.
std::deque<BenchedRanker> benched_rankers(const BenchRerankArguments& arguments) {
  std::deque<BenchedRanker> models;
  for (const SynthRankerShape& shape : all_synth_rankers) {
    const auto& names = arguments.rankers;
    const bool named = std::find(names.begin(), names.end(), shape.name) != names.end();
    if (named || (names.empty() && arguments.trees == 0)) models.push_back(benched_network(shape, arguments));
  }
  if (arguments.trees != 0) models.push_back(benched_trees(arguments));
  return models;
}

Json rerank_json(const RerankFigures& figures) {
  const auto ns = [&](double seconds) { return 1e9 * seconds / static_cast<double>(figures.documents); };
  Json json = {{"ranker", figures.ranker},
               {"device", figures.device},
               {"threads", figures.threads},
               {"documents", figures.documents},
               {"queries", figures.queries},
               {"us_per_query", 1e6 * figures.seconds},
               {"ns_per_document", figures.ns_per_document()},
               {"documents_per_second", figures.documents_per_second()},
               {"stages", nullptr},
               {"joules_per_million_documents", nullptr}};
  if (figures.threads == 1)
    json["stages"] = {{"inputs_ns_per_document", ns(figures.stages.inputs)},
                      {"trees_ns_per_document", ns(figures.stages.trees)},
                      {"layers_ns_per_document", ns(figures.stages.layers)}};
  if (figures.joules)
    json["joules_per_million_documents"] = 1e6 * *figures.joules / static_cast<double>(figures.documents);
  return json;
}

void print_rerank_head() {
  print(environment_line());
  print(fmt::format("{:<14}{:>7}{:>9}{:>7}{:>12}{:>9}{:>12}{:>9}{:>9}{:>9}{:>9}\n", "ranker", "device", "threads",
                    "docs", "us a query", "ns/doc", "docs/s", "inputs", "trees", "layers", "J/1M"));
}

std::string figure_text(const Json& value, const char* format) {
  return value.is_null() ? "-" : fmt::format(fmt::runtime(format), value.get<double>());
}

void print_rerank_row(const Json& row) {
  const Json& stages = row["stages"];
  const auto stage = [&](const char* key) {
    return stages.is_null() ? std::string("-") : fmt::format("{:.0f}", stages[key].get<double>());
  };
  print(fmt::format("{:<14}{:>7}{:>9}{:>7}{:>12.1f}{:>9.0f}{:>12.0f}{:>9}{:>9}{:>9}{:>9}\n",
                    row["ranker"].get<std::string>(), row["device"].get<std::string>(), row["threads"].get<unsigned>(),
                    row["documents"].get<std::size_t>(), row["us_per_query"].get<double>(),
                    row["ns_per_document"].get<double>(), row["documents_per_second"].get<double>(),
                    stage("inputs_ns_per_document"), stage("trees_ns_per_document"), stage("layers_ns_per_document"),
                    figure_text(row["joules_per_million_documents"], "{:.3g}")));
}

void run(const BenchRerankArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  Json json = {{"bench", "rerank"}, {"environment", environment_json()}};  // its load is that before the work
  const std::deque<BenchedRanker> models = benched_rankers(arguments);
  std::vector<RerankSubject> subjects;
  for (const BenchedRanker& one : models) {
    subjects.push_back({one.name, &one.model});
    json["rankers"].push_back(one.json);
  }
  RerankBenchOptions options;
  options.documents = arguments.documents;
  options.repeats = arguments.repeats;
  options.threads = resources.threads;
  const std::size_t most = *std::max_element(options.documents.begin(), options.documents.end());
  const SynthFeatures features(arguments.synth.features, most, arguments.synth.seed);
  json["seed"] = arguments.synth.seed;
  json["repeats"] = arguments.repeats;
  for (const RerankFigures& figures : measure_reranking(subjects, features.columns(), options, *resources.progress))
    json["results"].push_back(rerank_json(figures));
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_rerank_head();
  for (const Json& row : json["results"]) print_rerank_row(row);
}

void add_synth_options(CLI::App& command, BenchRerankArguments& arguments) {
  add_name_option(command, "--ranker", arguments.rankers, all_synth_rankers,
                  with_choices("Rankers of Tadros (default: all, unless --trees is given)", all_synth_rankers))
      ->delimiter(',');
  command.add_option("--trees", arguments.trees, "Measure the sum of so many trees, without a network")
      ->type_name("N")
      ->check(range_validator(1u, 100000u));
  command.add_option("--leaves", arguments.synth.leaves, "Leaves of each tree")
      ->type_name("N")
      ->check(range_validator(1u, 16384u))
      ->capture_default_str();
  command.add_option("--features", arguments.synth.features, "Features of a document")
      ->type_name("N")
      ->check(range_validator(1u, 10000u))
      ->capture_default_str();
  command.add_option("--hidden", arguments.synth.hidden, "Neurons between two layers")
      ->type_name("N")
      ->check(range_validator(1u, 10000u))
      ->capture_default_str();
  command.add_option("--seed", arguments.synth.seed, "Seed of models and features")
      ->type_name("N")
      ->check(number_validator<std::uint64_t>())
      ->capture_default_str();
}

}  // namespace

void add_rerank_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchRerankArguments>();
  CLI::App* command = bench.add_subcommand("rerank", "Measure how fast learned models score documents");
  add_synth_options(*command, *arguments);
  command->add_option("--docs", arguments->documents, "Documents a query: a row for each number")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{100000}))
      ->delimiter(',')
      ->capture_default_str();
  add_repeats_option(*command, arguments->repeats, "Repetitions, of which the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"Models and features are synthetic: they have the sizes of the rankers of Tadros (2015), or those that "
             "--trees, --leaves and --features say, and learned nothing. Scores must have the bits of plain "
             "evaluation, or nothing is measured. Each query is measured on one thread (its processor time), and with "
             "its documents divided among all threads (time by the clock). Inputs, trees and layers are the stages on "
             "one thread, in ns per document; J/1M is what the processors take for a million documents, where the "
             "system lets this be read."},
            {{"quern bench rerank"}, {"quern bench rerank --trees 1000 --leaves 64 --docs 10,100,1000 -j 1"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
