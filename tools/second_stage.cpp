#include "second_stage.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "quern/core/size_text.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/formats/queries/qrels.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/rank/features/feature_list.hpp"

#include "query_options.hpp"

namespace quern::tools {

void add_features_option(CLI::App& command, std::string& features, const std::string& help) {
  add_option(command, "--features", features, "LIST", help)->capture_default_str();
}

CLI::Option* add_ranker_options(CLI::App& command, RankerArguments& arguments) {
  add_features_option(
      command, arguments.features,
      "The --features list used when the model was trained, which gives its feature numbers their meaning");
  return add_option(
      command, "--ranker", arguments.ranker, "MODEL",
      "Reorder the results with this learned model: a LightGBM, XGBoost or RankLib file, or one of Quern's own "
      "descriptions");
}

void add_run_options(CLI::App& command, RunArguments& arguments) {
  add_option(command, "--run", arguments.run, "FILE",
             "The run of the first stage, in TREC's format; - is standard input");
  add_option(command, "-q,--queries", arguments.topics, "FILE",
             "The topics that it was produced with, plain, gzip or zstd");
  add_query_format_option(command, arguments.format, "Format of the topics");
}

void require_run(const RunArguments& arguments) {
  if (arguments.run.empty()) throw usage_error("--run is required");
  if (arguments.topics.empty()) throw usage_error("--queries is required");
}

SecondStageMemory::SecondStageMemory(const IndexShards& shards, std::span<const ForwardReader> forwards,
                                     const Resources& resources)
    : pages(shards, forwards, resources.memory_bytes / 4),
      feature_bytes(resources.memory_bytes / 8 * 3),
      in_flight_bytes(resources.memory_bytes / 8) {}

RunTopics read_run_topics(const RunArguments& arguments, const std::string& qrels, const IndexShards& shards,
                          IndexPages& pages, const CommonOptions& options, const Resources& resources,
                          std::uint64_t& topics) {
  RunTopics run(shards, pages,
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
  add_option(command, "--ranker-memory", arguments.ranker_memory, "SIZE",
             "GPU memory for models (default: an eighth); the CPU reranks with larger models")
      ->check(size_validator());
  add_number_option(
      command, "--gpu-from", arguments.fewest_documents, "N",
      "Minimum documents that a GPU reranks together; the CPU reranks fewer (default: depends on the model's size)", 1,
      std::numeric_limits<std::size_t>::max());
  command.add_flag("--fast-math", arguments.fast_math,
                   "On a GPU, compute wide network layers with tensor cores: faster, but scores differ from the CPU's");
}

gpu::GpuRerankOptions GpuRerankArguments::options() const {
  gpu::GpuRerankOptions options;
  if (!ranker_memory.empty()) options.ranker_bytes = parse_size(ranker_memory);
  options.fewest_documents = fewest_documents;
  options.fast_math = fast_math;
  return options;
}

Json gpu_rerank_json(const gpu::GpuRerankCounts& counts) {
  return {{"documents_on_gpu", counts.documents_on_gpu},
          {"documents_on_cpu", counts.documents_on_cpu},
          {"batches", counts.batches},
          {"without_room", counts.without_room}};
}

void SecondStageArguments::check(std::size_t k) const {
  if (!wanted() && is_set) throw usage_error("--rerank and --features need --ranker");
  if (!wanted() && gpu.is_set())
    throw usage_error("--gpu-options: ranker-memory, gpu-from and fast-math need --ranker");
  if (wanted() && rerank < k) throw usage_error(fmt::format("--rerank {} is less than -k {}", rerank, k));
}

void add_second_stage_options(CLI::App& command, SecondStageArguments& arguments) {
  add_ranker_options(command, arguments.ranker);
  add_number_option(command, "--rerank", arguments.rerank, "N",
                    "With --ranker: how many of the query algorithm's top documents the model scores (at least -k)", 1,
                    end_docid);
  for (const char* const option : {"--rerank", "--features"})
    command.get_option(option)->each([&arguments](const std::string&) { arguments.is_set = true; });
}

SecondStage::SecondStage(const RankerArguments& arguments, const IndexShards& shards)
    : forwards_(open_forwards(shards)),
      reranker_(feature_shards(shards, forwards_),
                bind_features(read_ranker(arguments.ranker), select_features(arguments.features), arguments.ranker),
                arguments.ranker, memory_),
      spaces_([this] { return Reranker::Space(reranker_); }) {}

void SecondStage::use_gpu(QueryDevice device, gpu::GpuRerankOptions options, Progress& progress) {
  on_gpu_ = gpu::make_gpu_reranker(reranker_, device, std::move(options), progress);
}

void SecondStage::reserve_gpu_memory(unsigned gpu, gpu::GpuMemoryOptions& options) const {
  if (on_gpu_ == nullptr) return;
  if (options.bytes) {
    *options.bytes -= *options.bytes / gpu_memory_divisor;
  } else {
    options.reserved = {gpu, on_gpu_->bytes_left()};
  }
}

double SecondStage::rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k) const {
  const auto begun = WallClock::now();
  if (on_gpu_ != nullptr) {
    const gpu::RerankJob job = {query, &documents};
    on_gpu_->rerank({&job, 1}, k, spaces_.local());
  } else {
    reranker_.rerank(query, documents, k, spaces_.local());
  }
  return us_since(begun);
}

RerankReport SecondStage::rerank(std::span<TopicResults> topics, std::size_t k, const Resources& resources) const {
  return on_gpu_ != nullptr ? gpu::rerank_topics(*on_gpu_, topics, k, resources)
                            : rerank_topics(reranker_, topics, k, resources);
}

}  // namespace quern::tools
