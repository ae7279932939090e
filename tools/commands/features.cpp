#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "quern/features/feature_extractor.hpp"
#include "quern/features/feature_list.hpp"
#include "quern/formats/queries/letor_file.hpp"
#include "quern/formats/queries/qrels.hpp"
#include "quern/io/byte_source.hpp"

#include "command.hpp"
#include "query_options.hpp"
#include "second_stage_options.hpp"

namespace quern::tools {
namespace {

struct FeaturesArguments {
  CommonOptions common;
  RunArguments run;
  std::string index, qrels, output, features = "all";
  bool list = false;
};

/// Judgements by topic and docno.
class Labels {
 public:
  Labels(const std::string& path, const Resources& resources) {
    if (path.empty()) return;
    read_qrels(*ByteSource::open(path, resources), [&](const JudgementLine& line, std::uint64_t number) {
      if (!relevance_.emplace(key(line.qid, line.docno), line.relevance).second)
        throw CorruptFile(fmt::format("{}: line {}: topic {} and document '{}' are judged twice", source_name(path),
                                      number, line.qid, line.docno));
    });
  }
  /// 0 if nobody judged it.
  std::int32_t of(std::string_view qid, std::string_view docno) const {
    const auto found = relevance_.find(key(qid, docno));
    return found == relevance_.end() ? 0 : found->second;
  }

 private:
  static std::string key(std::string_view qid, std::string_view docno) {
    return std::string(qid).append(1, '\0').append(docno);
  }
  std::unordered_map<std::string, std::int32_t> relevance_;
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

void run(const FeaturesArguments& arguments) {
  const std::vector<std::uint32_t> selection = select_features(arguments.features);
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  const ForwardReader forward = ForwardReader::open(index);
  TextOutput out(arguments.output, arguments.common.force);
  const Labels labels(arguments.qrels, resources);
  const std::vector<TopicResults> topics = read_topic_results(arguments.run, index, arguments.common, resources);
  const FeatureExtractor extractor(index, forward, selection);
  Analyzer analyzer(index.manifest().analyzer);
  std::vector<std::string> names;
  for (const std::uint32_t feature : selection) names.push_back(all_features()[feature].name);

  resources.progress->start("features", topics.size(), "topics");
  std::uint64_t documents = 0;
  FeatureMatrix matrix;
  std::vector<FeatureCandidate> candidates;
  for (const TopicResults& topic : topics) {
    candidates.clear();
    for (const ScoredDocument& document : topic.documents) candidates.push_back({document.docid, document.score});
    extractor.extract_all(make_feature_query(index, analyzer, topic.text), candidates, matrix);
    std::vector<std::string> lines(candidates.size());
    tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t row) {
      const std::string_view docno = index.docno(candidates[row].docid);
      const LetorRow letor{labels.of(topic.qid, docno), topic.qid, docno, matrix.columns(), row};
      lines[row] = arguments.common.json ? letor_json(letor, names) : letor_line(letor, names.size());
    });
    for (const std::string& line : lines) out.write(line);
    documents += candidates.size();
    resources.progress->add(1);
  }
  out.finish();
  resources.progress->finish();
  say(arguments.common, fmt::format("quern: {} of {} of {}", count_text(names.size(), "feature"),
                                    count_text(documents, "document"), count_text(topics.size(), "topic")));
}

}  // namespace

void add_features_command(CLI::App& program) {
  auto arguments = std::make_shared<FeaturesArguments>();
  CLI::App* command =
      program.add_subcommand("features", "Compute features of a run's documents, to train rankers with");
  command->add_option("INDEX", arguments->index, "The index, built with --forward")->type_name("");
  command->add_flag("--list", arguments->list, "Print the features' numbers, names, kinds and formulas, and end");
  add_run_options(*command, arguments->run);
  command->add_option("--qrels", arguments->qrels, "Judgements, which become the labels (default: all labels are 0)")
      ->type_name("FILE");
  add_features_option(*command, arguments->features,
                      "Names or patterns of features, parted by commas; * stands for any characters");
  mark_output(command->add_option("-o,--output", arguments->output, "Write to a file instead of standard output")
                  ->type_name("FILE"));
  command->add_flag("--force", arguments->common.force, "Overwrite existing output");
  command->add_flag("--json", arguments->common.json,
                    "Print a JSON object a line, with the features' names, instead of LETOR's format");
  add_resource_options(*command, arguments->common);
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern features my.quern -q topics.txt --run first.run --qrels qrels.txt -o train.letor"},
             {"quern features my.quern -q topics.txt --run first.run --features 'body.*,document.bm25f' -o few.letor"},
             {"quern features --list"}});
  command->callback([arguments] {
    if (arguments->list && !(arguments->index + arguments->run.run + arguments->qrels + arguments->output).empty())
      throw usage_error("--list prints the list of features and ends; it heeds --features and --json alone");
    if (arguments->list) return print_list(select_features(arguments->features), arguments->common.json);
    if (arguments->index.empty()) throw usage_error("INDEX is required, unless --list is given");
    require_run(arguments->run);
    run(*arguments);
  });
}

}  // namespace quern::tools
