#include "second_stage.hpp"

#include "quern/core/wall_clock.hpp"

namespace quern::tools {
void SecondStageArguments::check(std::size_t k) const {
  if (!wanted() && is_set) throw usage_error("--rerank and --features need --ranker");
  if (!wanted() && gpu.is_set())
    throw usage_error("--gpu-options: ranker-memory, gpu-from and fast-math need --ranker");
  if (wanted() && rerank < k) throw usage_error(fmt::format("--rerank {} is less than -k {}", rerank, k));
}

void add_second_stage_options(CLI::App& command, SecondStageArguments& arguments) {
  add_ranker_options(command, arguments.ranker);
  command
      .add_option("--rerank", arguments.rerank,
                  "With --ranker: how many of the query algorithm's top documents the model scores (at least -k)")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{end_docid}))
      ->capture_default_str();
  for (const char* const option : {"--rerank", "--features"})
    command.get_option(option)->each([&arguments](const std::string&) { arguments.is_set = true; });
}

namespace {

std::vector<ForwardReader> open_forwards(const IndexShards& shards) {
  std::vector<ForwardReader> forwards;
  for (const IndexReader& shard : shards) forwards.push_back(ForwardReader::open(shard));
  return forwards;
}

}  // namespace

SecondStage::SecondStage(const RankerArguments& arguments, const IndexShards& shards)
    : forwards_(open_forwards(shards)),
      memory_(shards.size()),
      reranker_(shards, forwards_, bind_model(arguments), arguments.ranker, memory_),
      spaces_([&shards] { return ShardedReranker::Space(shards); }) {}

void SecondStage::use_gpu(QueryDevice device, unsigned gpu, const GpuRerankArguments& arguments, GpuRerankMemory memory,
                          Progress& progress, const FailoverNotice& notice) {
  memory.parts = gpu_memory_parts;
  on_gpu_ = make_gpu_reranker(reranker_.of_shard(0), device, gpu, arguments, memory, progress, notice);
}

void SecondStage::reserve_gpu_memory(unsigned gpu, gpu::GpuMemoryOptions& options) const {
  if (on_gpu_ == nullptr) return;
  if (options.bytes) {
    *options.bytes -= *options.bytes / gpu_memory_parts;
  } else {
    options.reserved = {gpu, on_gpu_->bytes_left()};
  }
}

double SecondStage::rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k) const {
  const auto begun = WallClock::now();
  if (on_gpu_ != nullptr) {
    const gpu::RerankJob job = {query, &documents};
    on_gpu_->rerank({&job, 1}, k, spaces_.local().of_shard);
  } else {
    reranker_.rerank(query, documents, k, spaces_.local());
  }
  return us_since(begun);
}

}  // namespace quern::tools
