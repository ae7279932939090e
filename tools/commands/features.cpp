#include <fmt/format.h>

#include "command.hpp"
#include "query_options.hpp"
#include "second_stage.hpp"

namespace quern::tools {
namespace {

struct FeaturesArguments {
  CommonOptions common;
  RunArguments run;
  std::vector<std::string> indexes;
  std::string output, features = "all";
  bool list = false;
};

/// Prints features with their numbers in files.
void print_list(const std::vector<api::FeatureInfo>& features, bool json) {
  Json list = Json::array();
  for (const api::FeatureInfo& feature : features) {
    const std::size_t number = list.size() + 1;
    list.push_back({{"number", number}, {"name", feature.name}, {"kind", feature.kind}, {"formula", feature.formula}});
    if (!json) print(fmt::format("{}\t{}\t{}\t{}\n", number, feature.name, feature.kind, feature.formula));
  }
  if (json) print(list.dump(1) + "\n");
}

void run(const FeaturesArguments& arguments) {
  if (arguments.list &&
      !(arguments.indexes.empty() && (arguments.run.run + arguments.run.qrels + arguments.output).empty()))
    throw usage_error("--list prints the features and exits; only --features and --json apply to it");
  if (arguments.list) return print_list(api::features(arguments.features), arguments.common.json);
  if (arguments.indexes.empty()) throw usage_error("INDEX is required without --list");
  require_run(arguments.run);
  const std::size_t features = api::features(arguments.features).size();
  const Resources resources = make_resources(arguments.common, arguments.output);
  const api::Index index = api::Index::open_shards(arguments.indexes);
  TextOutput out(arguments.output, arguments.common.force);
  const api::SecondStageReport report = api::write_features(
      index, first_stage(arguments.run, arguments.common, resources), arguments.features, arguments.common.json,
      [&](std::string_view text) { out.write(text); }, make_work(arguments.common, resources));
  out.finish();
  say(arguments.common, fmt::format("quern: {} of {} of {}", count_text(features, "feature"),
                                    count_text(report.documents, "document"), count_text(report.topics, "topic")));
}

}  // namespace

void add_features_command(CLI::App& program) {
  auto [command, arguments] = add_command<FeaturesArguments>(
      program, "features", "Compute features of a run's documents, to train rankers with", run);
  add_shards_argument(command, arguments.indexes)
      ->description("The index, built with --forward; or all shards of one, in any order");
  command.add_flag("--list", arguments.list, "Print the features' numbers, names, kinds and formulas, and exit");
  add_run_options(command, arguments.run);
  add_option(command, "--qrels", arguments.run.qrels, "FILE",
             "Judgements, which become the labels (default: all labels are 0)");
  add_features_option(command, arguments.features,
                      "Names or patterns of features, separated by commas; * stands for any characters");
  mark_output(
      add_option(command, "-o,--output", arguments.output, "FILE", "Write to a file instead of standard output"));
  command.add_flag("--force", arguments.common.force, "Overwrite existing output");
  command.add_flag("--json", arguments.common.json,
                   "Print one JSON object per line, with the features' names, instead of LETOR's format");
  add_resource_options(command, arguments.common);
  add_common_options(command, arguments.common);
  set_notes(command, {},
            {{"quern features my.quern -q topics.txt --run first.run --qrels qrels.txt -o train.letor"},
             {"quern features my.quern -q topics.txt --run first.run --features 'body.*,document.bm25f' -o few.letor"},
             {"quern features --list"}});
}

}  // namespace quern::tools
