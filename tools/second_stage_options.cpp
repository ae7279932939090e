#include "second_stage_options.hpp"

#include "quern/features/feature_list.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/io/byte_source.hpp"

#include "query_options.hpp"

namespace quern::tools {

void add_features_option(CLI::App& command, std::string& features, const std::string& help) {
  command.add_option("--features", features, help)->type_name("LIST")->capture_default_str();
}

CLI::Option* add_ranker_options(CLI::App& command, RankerArguments& arguments) {
  add_features_option(
      command, arguments.features,
      "The list that quern features had when the model was trained: what the model's feature numbers mean");
  return command
      .add_option(
          "--ranker", arguments.ranker,
          "Reorder the results by this learned model: a file of LightGBM, XGBoost or RankLib, or a description of "
          "Quern's own")
      ->type_name("MODEL");
}

Reranker make_reranker(const RankerArguments& arguments, const IndexReader& index, const ForwardReader& forward) {
  return {index, forward,
          bind_features(read_ranker(arguments.ranker), select_features(arguments.features), arguments.ranker),
          arguments.ranker};
}

void add_run_options(CLI::App& command, RunArguments& arguments) {
  command.add_option("--run", arguments.run, "The run of the first stage, in TREC's format; - is standard input")
      ->type_name("FILE");
  command.add_option("-q,--queries", arguments.topics, "The topics that it was made with, plain, gzip or zstd")
      ->type_name("FILE");
  add_query_format_option(command, arguments.format, "Format of the topics");
}

void require_run(const RunArguments& arguments) {
  if (arguments.run.empty()) throw usage_error("--run is required");
  if (arguments.topics.empty()) throw usage_error("--queries is required");
}

std::vector<TopicResults> read_topic_results(const RunArguments& arguments, const IndexReader& index,
                                             const CommonOptions& options, const Resources& resources) {
  const std::vector<Query> topics = read_query_file(arguments.topics, arguments.format, options);
  TopicCollector collector(index, topics, source_name(arguments.topics), source_name(arguments.run));
  read_run(*ByteSource::open(arguments.run, resources), [&](const RunLineText& line, std::uint64_t number) {
    collector.add(line.qid, line.docno, line.score, number);
  });
  return collector.finish();
}

}  // namespace quern::tools
