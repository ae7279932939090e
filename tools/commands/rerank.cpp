#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "quern/formats/queries/run_file.hpp"
#include "quern/rerank/rerank_topics.hpp"

#include "command.hpp"
#include "query_options.hpp"
#include "second_stage_options.hpp"

namespace quern::tools {
namespace {

struct RerankArguments {
  CommonOptions common;
  RunArguments run;
  RankerArguments ranker;
  std::string index, output, stats, tag = "quern";
  std::size_t k = 1000;
};

/// A topic's results as lines of a TREC run.
std::string lines_of(const IndexReader& index, const TopicResults& topic, const std::string& tag) {
  std::vector<RunResult> results;
  results.reserve(topic.documents.size());
  for (const ScoredDocument& document : topic.documents)
    results.push_back({index.docno(document.docid), document.score, {}, {}});
  std::string text;
  run_format_named("trec").append(text, topic.qid, topic.text, results, tag);
  return text;
}

void run(const RerankArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  const ForwardReader forward = ForwardReader::open(index);
  const Reranker reranker = make_reranker(arguments.ranker, index, forward);
  TextOutput out(arguments.output, arguments.common.force);
  StatisticsFile statistics(arguments.stats);
  std::vector<TopicResults> topics = read_topic_results(arguments.run, index, arguments.common, resources);
  resources.progress->start("rerank", topics.size(), "topics");
  const RerankFigures figures = rerank_topics(reranker, topics, arguments.k, resources);
  for (const TopicResults& topic : topics) out.write(lines_of(index, topic, arguments.tag));
  out.finish();
  resources.progress->finish();
  const double per_second = static_cast<double>(figures.documents) / std::max(figures.seconds, 1e-9);
  say(arguments.common, fmt::format("quern: reranked {} of {}, {:.0f} documents a second on {}",
                                    count_text(figures.documents, "document"), count_text(topics.size(), "topic"),
                                    per_second, count_text(resources.threads, "thread")));
  if (statistics)
    statistics.write({{"topics", topics.size()},
                      {"documents", figures.documents},
                      {"seconds", figures.seconds},
                      {"documents_per_second", per_second},
                      {"threads", resources.threads}});
}

}  // namespace

void add_rerank_command(CLI::App& program) {
  auto arguments = std::make_shared<RerankArguments>();
  CLI::App* command = program.add_subcommand("rerank", "Reorder the results of a run by a learned model");
  add_index_argument(*command, arguments->index);
  add_run_options(*command, arguments->run);
  add_ranker_options(*command, arguments->ranker)->required();
  command->add_option("-k", arguments->k, "Results per topic in the new run")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{end_docid}))
      ->capture_default_str();
  command->add_option("--tag", arguments->tag, "Name of the new run")->type_name("NAME")->capture_default_str();
  add_answer_options(*command, arguments->common, arguments->output, arguments->stats);
  add_resource_options(*command, arguments->common);
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt -o second.run"},
             {"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt --features 'body.*,title.*'",
              "With a model that was trained with these features"}});
  command->callback([arguments] {
    require_run(arguments->run);
    run(*arguments);
  });
}

}  // namespace quern::tools
