#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quern/formats/queries/letor_file.hpp"
#include "quern/rank/features/feature_extractor.hpp"
#include "quern/rank/features/feature_list.hpp"

#include "command.hpp"
#include "query_options.hpp"
#include "second_stage.hpp"

namespace quern::tools {
namespace {

struct FeaturesArguments {
  CommonOptions common;
  RunArguments run;
  std::vector<std::string> indexes;
  std::string qrels, output, features = "all";
  bool list = false;
};

/// Prints the names of features, with their numbers in files.
void print_list(const std::vector<std::uint32_t>& selection, bool json) {
  Json list = Json::array();
  for (std::size_t i = 0; i < selection.size(); ++i) {
    const Feature& feature = all_features()[selection[i]];
    if (json) {
      list.push_back(
          {{"number", i + 1}, {"name", feature.name}, {"kind", name_of(feature.kind)}, {"formula", feature.formula}});
    } else {
      print(fmt::format("{}\t{}\t{}\t{}\n", i + 1, feature.name, name_of(feature.kind), feature.formula));
    }
  }
  if (json) print(list.dump(1) + "\n");
}

/// Computes the features of topics and writes their lines, as many documents at a time as fit in the memory.
class FeaturesRun {
 public:
  FeaturesRun(const FeaturesArguments& arguments, const IndexShards& shards, const FeatureExtractor& extractor,
              std::vector<std::string> names, SecondStageMemory& memory, TextOutput& out)
      : json_(arguments.common.json),
        shards_(shards),
        extractor_(extractor),
        names_(std::move(names)),
        memory_(memory),
        out_(out),
        analyzer_(extractor.make_analyzer()) {
    for (const std::string& name : names_) bytes_per_document_ += bytes_per_feature + (json_ ? name.size() : 0);
  }

  void write(const TopicResults& topic) {
    const std::vector<FeatureQuery> queries = extractor_.queries_of(topic.text, analyzer_);
    const std::size_t at_once = documents_at_once(topic.qid.size());
    for (std::size_t from = 0; from < topic.documents.size(); from += at_once)
      write(topic, queries, from, std::min(from + at_once, topic.documents.size()));
    documents_ += topic.documents.size();
  }

  std::uint64_t documents() const { return documents_; }

 private:
  /// A float32 in the matrix, and in a line a text of a dozen bytes with its number, in a buffer that doubles.
  static constexpr std::uint64_t bytes_per_feature = 64;

  std::size_t documents_at_once(std::size_t qid_bytes) const {
    constexpr std::uint64_t least = FeatureColumns::documents_per_group, most = 4096;
    return std::clamp(memory_.in_flight_bytes / 2 / (bytes_per_document_ + 2 * qid_bytes), least, most);
  }

  void write(const TopicResults& topic, std::span<const FeatureQuery> queries, std::size_t from, std::size_t end) {
    candidates_.clear();
    for (std::size_t i = from; i < end; ++i)
      candidates_.push_back({topic.documents[i].docid, topic.documents[i].score});
    extractor_.extract_all(queries, candidates_, matrix_);
    std::vector<std::string> lines(candidates_.size());
    tbb::parallel_for(std::size_t{0}, candidates_.size(), [&](std::size_t row) {
      const std::string_view docno = shards_.docno(candidates_[row].docid);
      const std::int32_t label = topic.relevances.empty() ? 0 : topic.relevances[from + row];
      const LetorRow letor{label, topic.qid, docno, matrix_.columns(), row};
      lines[row] = json_ ? letor_json(letor, names_) : letor_line(letor, names_.size());
    });
    for (const std::string& line : lines) out_.write(line);
  }

  bool json_;
  const IndexShards& shards_;
  const FeatureExtractor& extractor_;
  std::vector<std::string> names_;
  SecondStageMemory& memory_;
  TextOutput& out_;
  Analyzer analyzer_;
  std::uint64_t bytes_per_document_ = 256;  ///< of its row and its line
  std::uint64_t documents_ = 0;
  std::vector<FeatureCandidate> candidates_;
  FeatureMatrix matrix_;
};

void run(const FeaturesArguments& arguments) {
  const std::vector<std::uint32_t> selection = select_features(arguments.features);
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexShards shards = IndexShards::open(arguments.indexes);
  const std::vector<ForwardReader> forwards = open_forwards(shards);
  SecondStageMemory memory(shards, forwards, resources);
  const FeatureMemory feature_memory(memory.feature_bytes, resources.threads, memory.pages);
  TextOutput out(arguments.output, arguments.common.force);
  std::uint64_t topics = 0;
  RunTopics run_topics =
      read_run_topics(arguments.run, arguments.qrels, shards, memory.pages, arguments.common, resources, topics);
  const FeatureExtractor extractor(feature_shards(shards, forwards), selection, feature_memory);
  std::vector<std::string> names;
  for (const std::uint32_t feature : selection) names.push_back(all_features()[feature].name);

  resources.progress->start("compute features", topics, "topics");
  FeaturesRun features_run(arguments, shards, extractor, std::move(names), memory, out);
  run_topics.for_each([&](const TopicResults& topic) {
    features_run.write(topic);
    resources.progress->add(1);
  });
  out.finish();
  resources.progress->finish();
  say(arguments.common, fmt::format("quern: {} of {} of {}", count_text(selection.size(), "feature"),
                                    count_text(features_run.documents(), "document"), count_text(topics, "topic")));
}

}  // namespace

void add_features_command(CLI::App& program) {
  auto arguments = std::make_shared<FeaturesArguments>();
  CLI::App* command =
      program.add_subcommand("features", "Compute features of a run's documents, to train rankers with");
  add_shards_argument(*command, arguments->indexes)
      ->description("The index, built with --forward; or all shards of one, in any order");
  command->add_flag("--list", arguments->list, "Print the features' numbers, names, kinds and formulas, and exit");
  add_run_options(*command, arguments->run);
  add_option(*command, "--qrels", arguments->qrels, "FILE",
             "Judgements, which become the labels (default: all labels are 0)");
  add_features_option(*command, arguments->features,
                      "Names or patterns of features, separated by commas; * stands for any characters");
  mark_output(
      add_option(*command, "-o,--output", arguments->output, "FILE", "Write to a file instead of standard output"));
  command->add_flag("--force", arguments->common.force, "Overwrite existing output");
  command->add_flag("--json", arguments->common.json,
                    "Print one JSON object per line, with the features' names, instead of LETOR's format");
  add_resource_options(*command, arguments->common);
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern features my.quern -q topics.txt --run first.run --qrels qrels.txt -o train.letor"},
             {"quern features my.quern -q topics.txt --run first.run --features 'body.*,document.bm25f' -o few.letor"},
             {"quern features --list"}});
  command->callback([arguments] {
    if (arguments->list &&
        !(arguments->indexes.empty() && (arguments->run.run + arguments->qrels + arguments->output).empty()))
      throw usage_error("--list prints the features and exits; only --features and --json apply to it");
    if (arguments->list) return print_list(select_features(arguments->features), arguments->common.json);
    if (arguments->indexes.empty()) throw usage_error("INDEX is required without --list");
    require_run(arguments->run);
    run(*arguments);
  });
}

}  // namespace quern::tools
