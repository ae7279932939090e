#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "quern/core/size_text.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/rank/run_topics.hpp"

#include "command.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"
#include "second_stage.hpp"

namespace quern::tools {
namespace {

struct RerankArguments {
  CommonOptions common;
  RunArguments run;
  RankerArguments ranker;
  QueryDevice device = QueryDevice::cpu;
  unsigned gpu = 0;
  std::string gpu_memory;
  GpuRerankArguments on_gpu;
  std::vector<std::string> indexes;
  std::string output, stats, tag = "quern";
  std::size_t k = 1000;
};

/// Reranks topics, as many at a time as fit in the memory, and writes them in their order.
class RerankRun {
 public:
  RerankRun(const RerankArguments& arguments, const Resources& resources, const IndexShards& shards,
            const SecondStage& second_stage, SecondStageMemory& memory, TextOutput& out)
      : arguments_(arguments),
        resources_(resources),
        shards_(shards),
        second_stage_(second_stage),
        memory_(memory),
        out_(out) {}

  void add(TopicResults topic) {
    const std::uint64_t bytes = topic.bytes();
    if (bytes_ + bytes > memory_.in_flight_bytes) finish();
    bytes_ += bytes;
    topics_.push_back(std::move(topic));
  }

  /// Reranks and writes the topics that were added and are not written yet.
  void finish() {
    const RerankReport figures = second_stage_.rerank(topics_, arguments_.k, resources_);
    figures_.documents += figures.documents;
    figures_.seconds += figures.seconds;
    for (const TopicResults& topic : topics_) write(topic);
    topics_.clear();
    bytes_ = 0;
  }

  const RerankReport& figures() const { return figures_; }

 private:
  /// Writes lines of a TREC run, some at a time.
  void write(const TopicResults& topic) {
    constexpr std::size_t at_once = 1024;
    const std::span<const ScoredDocument> documents(topic.documents);
    for (std::size_t from = 0; from < documents.size(); from += at_once) {
      std::vector<RunResult> results;
      for (const ScoredDocument& document : documents.subspan(from, std::min(at_once, documents.size() - from)))
        results.push_back({shards_.docno(document.docid), document.score, {}, {}});
      std::string text;
      run_format_named("trec").append_piece(text, topic.qid, topic.text,
                                            {results, from + 1, from == 0, from + results.size() == documents.size()},
                                            arguments_.tag);
      out_.write(text);
      memory_.pages.note_bytes(text.size());
    }
  }

  const RerankArguments& arguments_;
  const Resources& resources_;
  const IndexShards& shards_;
  const SecondStage& second_stage_;
  SecondStageMemory& memory_;
  TextOutput& out_;
  std::vector<TopicResults> topics_;
  std::uint64_t bytes_ = 0;  ///< of the topics
  RerankReport figures_;
};

/// Reranks on a GPU if one is to; what its copies pin is taken from the memory for topics in flight.
void use_gpu(const RerankArguments& arguments, SecondStage& second_stage, SecondStageMemory& memory,
             const Resources& resources) {
  gpu::GpuRerankOptions options = arguments.on_gpu.options();
  options.gpu = arguments.gpu;
  if (!arguments.gpu_memory.empty()) options.memory_bytes = parse_size(arguments.gpu_memory);
  const std::uint64_t pinned = memory.in_flight_bytes / 2;
  options.pinned_bytes = pinned;
  options.threads = resources.threads;
  options.notice = [&](const std::string& text) { say(arguments.common, "quern: " + text); };
  second_stage.use_gpu(arguments.device, std::move(options), *resources.progress);
  if (second_stage.on_gpu() != nullptr) memory.in_flight_bytes -= pinned;
}

void run(const RerankArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexShards shards = IndexShards::open(arguments.indexes);
  SecondStage second_stage(arguments.ranker, shards);
  SecondStageMemory memory(shards, second_stage.forwards(), resources);
  second_stage.limit_memory(memory.feature_bytes, resources.threads, memory.pages);
  TextOutput out(arguments.output, arguments.common.force);
  StatisticsFile statistics(arguments.stats);
  use_gpu(arguments, second_stage, memory, resources);
  std::uint64_t topics = 0;
  RunTopics run_topics = read_run_topics(arguments.run, {}, shards, memory.pages, arguments.common, resources, topics);
  resources.progress->start("rerank", topics, "topics");
  RerankRun rerank_run(arguments, resources, shards, second_stage, memory, out);
  run_topics.for_each([&](TopicResults topic) { rerank_run.add(std::move(topic)); });
  rerank_run.finish();
  out.finish();
  resources.progress->finish();
  const RerankReport& figures = rerank_run.figures();
  const double per_second = static_cast<double>(figures.documents) / std::max(figures.seconds, 1e-9);
  say(arguments.common, fmt::format("quern: reranked {} of {}, {:.0f} documents per second on {}",
                                    count_text(figures.documents, "document"), count_text(topics, "topic"), per_second,
                                    count_text(resources.threads, "thread")));
  if (!statistics) return;
  Json json = {{"topics", topics},
               {"documents", figures.documents},
               {"seconds", figures.seconds},
               {"documents_per_second", per_second},
               {"threads", resources.threads}};
  if (second_stage.on_gpu() != nullptr) json["rerank_on_gpu"] = gpu_rerank_json(second_stage.on_gpu()->counts());
  statistics.write(json);
}

}  // namespace

void add_rerank_command(CLI::App& program) {
  auto arguments = std::make_shared<RerankArguments>();
  CLI::App* command = program.add_subcommand("rerank", "Reorder the results of a run with a learned model");
  add_shards_argument(*command, arguments->indexes)->required();
  add_run_options(*command, arguments->run);
  add_ranker_options(*command, arguments->ranker)->required();
  add_number_option(*command, "-k", arguments->k, "N", "Results per topic in the new run", 1, end_docid);
  add_device_option(*command, arguments->device, devices_one_at_a_time);
  add_gpu_option(*command, arguments->gpu);
  add_option(*command, "--gpu-memory", arguments->gpu_memory, "SIZE",
             "GPU memory limit (default: the free memory, less a margin)")
      ->check(size_validator());
  add_settings_option(*command, "--gpu-options", "GPU settings",
                      [&](CLI::App& settings) { add_gpu_rerank_options(settings, arguments->on_gpu); });
  add_option(*command, "--tag", arguments->tag, "NAME", "Name of the new run")->capture_default_str();
  add_answer_options(*command, arguments->common, arguments->output, arguments->stats);
  add_resource_options(*command, arguments->common);
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt -o second.run"},
             {"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt --features 'body.*,title.*'",
              "With a model that was trained with these features"},
             {"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt --device auto -o second.run",
              "On a GPU, if there is one: the same scores"}});
  command->callback([arguments] {
    require_run(arguments->run);
    run(*arguments);
  });
}

}  // namespace quern::tools
