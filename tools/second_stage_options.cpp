#include "second_stage_options.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "quern/core/size_text.hpp"
#include "quern/formats/queries/qrels.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/rank/features/feature_list.hpp"

#include "query_options.hpp"

namespace quern::tools {

void add_features_option(CLI::App& command, std::string& features, const std::string& help) {
  command.add_option("--features", features, help)->type_name("LIST")->capture_default_str();
}

CLI::Option* add_ranker_options(CLI::App& command, RankerArguments& arguments) {
  add_features_option(
      command, arguments.features,
      "The --features list used when the model was trained, which gives its feature numbers their meaning");
  return command
      .add_option("--ranker", arguments.ranker,
                  "Reorder the results with this learned model: a LightGBM, XGBoost or RankLib file, or one of Quern's "
                  "own descriptions")
      ->type_name("MODEL");
}

BoundModel bind_model(const RankerArguments& arguments) {
  return bind_features(read_ranker(arguments.ranker), select_features(arguments.features), arguments.ranker);
}

Reranker make_reranker(const RankerArguments& arguments, const IndexReader& index, const ForwardReader& forward,
                       const FeatureMemory& memory) {
  return {index, forward, bind_model(arguments), arguments.ranker, memory};
}

void add_run_options(CLI::App& command, RunArguments& arguments) {
  command.add_option("--run", arguments.run, "The run of the first stage, in TREC's format; - is standard input")
      ->type_name("FILE");
  command.add_option("-q,--queries", arguments.topics, "The topics that it was produced with, plain, gzip or zstd")
      ->type_name("FILE");
  add_query_format_option(command, arguments.format, "Format of the topics");
}

void require_run(const RunArguments& arguments) {
  if (arguments.run.empty()) throw usage_error("--run is required");
  if (arguments.topics.empty()) throw usage_error("--queries is required");
}

SecondStageMemory::SecondStageMemory(const IndexReader& index, const ForwardReader& forward, const Resources& resources)
    : pages(index, resources.memory_bytes / 4, &forward),
      features(resources.memory_bytes / 8 * 3, resources.threads, pages),
      in_flight_bytes(resources.memory_bytes / 8) {}

RunTopics read_run_topics(const RunArguments& arguments, const std::string& qrels, const IndexReader& index,
                          IndexPages& pages, const CommonOptions& options, const Resources& resources,
                          std::uint64_t& topics) {
  RunTopics run(index, pages,
                {source_name(arguments.topics), source_name(arguments.run), qrels.empty() ? "" : source_name(qrels)},
                resources);
  QueryRemarks remarks(options, arguments.format);
  const QueryFormat format = QueryLogFile(arguments.topics, arguments.format, resources)
                                 .for_each([&](std::string_view id, std::string_view text) {
                                   remarks.look_at(text);
                                   run.add_topic(id, text);
                                 });
  say_format(options, arguments.topics, arguments.format, format);
  if (!qrels.empty())
    read_qrels(*ByteSource::open(qrels, resources),
               [&](const JudgementLine& line, std::uint64_t number) { run.add_judgement(line, number); });
  read_run(*ByteSource::open(arguments.run, resources),
           [&](const RunLineText& line, std::uint64_t number) { run.add_line(line, number); });
  topics = run.join();
  return run;
}

void add_gpu_rerank_options(CLI::App& command, GpuRerankArguments& arguments) {
  command
      .add_option("--ranker-memory", arguments.ranker_memory,
                  "GPU memory for models (default: an eighth); the CPU reranks with larger models")
      ->type_name("SIZE")
      ->check(size_validator());
  add_number_option(
      command, "--gpu-from", arguments.fewest_documents, "N",
      "Minimum documents that a GPU reranks together; the CPU reranks fewer (default: depends on the model's size)", 1,
      std::numeric_limits<std::size_t>::max());
  command.add_flag("--fast-math", arguments.fast_math,
                   "On a GPU, compute wide network layers with tensor cores: faster, but scores differ from the CPU's");
}

std::unique_ptr<gpu::GpuReranker> make_gpu_reranker(const Reranker& on_cpu, QueryDevice device, unsigned gpu,
                                                    const GpuRerankArguments& arguments, const GpuRerankMemory& memory,
                                                    Progress& progress, const FailoverNotice& notice) {
  gpu::GpuRerankOptions options;
  options.gpu = gpu;
  options.memory_bytes = memory.on_gpu;
  options.memory_divisor = memory.parts;
  options.pinned_bytes = memory.pinned;
  options.threads = memory.threads;
  if (!arguments.ranker_memory.empty()) options.ranker_bytes = parse_size(arguments.ranker_memory);
  options.fewest_documents = arguments.fewest_documents;
  options.fast_math = arguments.fast_math;
  options.notice = notice;
  return gpu::make_gpu_reranker(on_cpu, device, std::move(options), progress);
}

Json gpu_rerank_json(const gpu::GpuRerankCounts& counts) {
  return {{"documents_on_gpu", counts.documents_on_gpu},
          {"documents_on_cpu", counts.documents_on_cpu},
          {"batches", counts.batches},
          {"without_room", counts.without_room}};
}

}  // namespace quern::tools
