#include <fmt/format.h>

#include "quern/io/byte_source.hpp"

#include "command.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

/// A run, and the topics that it was made with.
struct RunArguments {
  std::string run, topics, qrels;
  QueryLayout layout;
};

/// --run, -q/--queries and --queries-format.
void add_run_options(CLI::App& command, RunArguments& arguments) {
  add_input_option(command, "--run", arguments.run, "FILE",
                   "The run of the first stage, in TREC's format; - is standard input");
  add_input_option(command, "-q,--queries", arguments.topics, "FILE",
                   "The topics that it was produced with, plain or compressed");
  add_query_layout_options(command, arguments.layout, "Format of the topics");
}

void require_run(const RunArguments& arguments) {
  if (arguments.run.empty()) throw usage_error("--run is required");
  if (arguments.topics.empty()) throw usage_error("--queries is required");
}

/// The run for the library, with remarks on the topics. The arguments must stay.
api::FirstStage first_stage(const RunArguments& arguments, const CommonOptions& options, const Resources& resources) {
  const auto topics = [&](const QueryVisitor& take) {
    QueryRemarks remarks(options, arguments.layout.format);
    QueryLogFile(arguments.topics, arguments.layout, resources).for_each(remarks, take);
  };
  return {arguments.run, topics, source_name(arguments.topics), arguments.qrels};
}

struct RerankArguments {
  CommonOptions common;
  RunArguments run;
  api::RankerOptions ranker;
  QueryDevice device = QueryDevice::cpu;
  api::Placement placement;
  std::vector<std::string> indexes;
  std::string output, stats, tag = "quern";
  std::size_t k = 1000;
};

void run(const RerankArguments& arguments) {
  require_run(arguments.run);
  const Resources resources = make_resources(arguments.common, arguments.output);
  const api::Index index = api::Index::open_shards(arguments.indexes);
  TextOutput out(arguments.output, arguments.common.force);
  StatisticsFile statistics(arguments.stats);
  api::Placement placement = arguments.placement;
  placement.device = static_cast<api::Device>(arguments.device);
  placement.notice = remarks(arguments.common);
  const api::SecondStageReport report = api::rerank_run(
      index, first_stage(arguments.run, arguments.common, resources), arguments.ranker, arguments.k, arguments.tag,
      placement, [&](std::string_view text) { out.write(text); }, make_work(arguments.common, resources));
  out.finish();
  say(arguments.common, "quern: reranked {} of {}, {:.0f} documents per second on {}",
      count_text(report.documents, "document"), count_text(report.topics, "topic"),
      static_cast<double>(report.documents) / std::max(report.seconds, 1e-9), count_text(resources.threads, "thread"));
  if (statistics) statistics.write(report.figures);
}

}  // namespace

void add_rerank_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<RerankArguments>(program, "rerank", "Reorder the results of a run with a learned model", run);
  add_shards_argument(command, arguments.indexes)->required();
  add_run_options(command, arguments.run);
  add_ranker_options(command, arguments.ranker)->required();
  add_input_option(command, "--rankers", arguments.ranker.by_topic, "FILE",
                   "Lines TOPIC<TAB>MODEL: models for these topics in place of --ranker's");
  add_number_option(command, "-k", arguments.k, "N", "Results per topic in the new run", 1, end_docid);
  add_device_option(command, arguments.device, devices_one_at_a_time);
  add_gpu_option(command, arguments.placement.gpu);
  add_size_option(command, "--gpu-memory", arguments.placement.gpu_memory_bytes,
                  "GPU memory limit (default: the free memory, less a margin)");
  add_settings_option(command, "--gpu-options", "GPU settings", [&arguments = arguments](CLI::App& settings) {
    add_gpu_rerank_options(settings, arguments.ranker);
  });
  add_option(command, "--tag", arguments.tag, "NAME", "Name of the new run")->capture_default_str();
  add_answer_options(command, arguments.common, arguments.output, arguments.stats);
  set_notes(command, {},
            {{"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt -o second.run"},
             {"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt --features 'body.*,title.*'",
              "With a model that was trained with these features"},
             {"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt --rankers by-topic.tsv",
              "With other models for some topics"},
             {"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt --device auto -o second.run",
              "On a GPU, if there is one: the same scores"}});
}

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
  if (json) print_json(list);
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
  say(arguments.common, "quern: {} of {} of {}", count_text(features, "feature"),
      count_text(report.documents, "document"), count_text(report.topics, "topic"));
}

}  // namespace

void add_features_command(CLI::App& program) {
  auto [command, arguments] = add_command<FeaturesArguments>(
      program, "features", "Compute features of a run's documents, to train rankers with", run);
  add_shards_argument(command, arguments.indexes)
      ->description("The index, built with --forward; or all shards of one, in any order");
  command.add_flag("--list", arguments.list, "Print the features' numbers, names, kinds and formulas, and exit");
  add_run_options(command, arguments.run);
  add_input_option(command, "--qrels", arguments.run.qrels, "FILE",
                   "Judgements, which become the labels (default: all labels are 0)");
  add_features_option(command, arguments.features,
                      "Names or patterns of features, separated by commas; * stands for any characters");
  add_output_option(command, "-o,--output", arguments.output, "FILE", "Write to a file instead of standard output");
  command.add_flag("--force", arguments.common.force, "Overwrite existing output");
  command.add_flag("--json", arguments.common.json,
                   "Print one JSON object per line, with the features' names, instead of LETOR's format");
  add_work_options(command, arguments.common);
  set_notes(command, {},
            {{"quern features my.quern -q topics.txt --run first.run --qrels qrels.txt -o train.letor"},
             {"quern features my.quern -q topics.txt --run first.run --features 'body.*,document.bm25f' -o few.letor"},
             {"quern features --list"}});
}

}  // namespace quern::tools
