#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/rank/run_topics.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/top_k.hpp"

#include "command.hpp"

/// The second stage of commands: the list of features, the model, runs with their topics, and GPUs that rerank.
namespace quern::tools {

/// --features.
void add_features_option(CLI::App& command, std::string& features, const std::string& help);

/// A model, and the list of features that it was trained with.
struct RankerArguments {
  std::string ranker, features = "all";
};
/// --ranker and --features; returns the option --ranker.
CLI::Option* add_ranker_options(CLI::App& command, RankerArguments& arguments);

/// How the memory of a command that works on a run is divided: mapped pages, where terms are in documents, topics or
/// lines in flight; the rest is for RunTopics.
struct SecondStageMemory {
  SecondStageMemory(const IndexShards& shards, std::span<const ForwardReader> forwards, const Resources& resources);

  IndexPages pages;
  std::uint64_t feature_bytes, in_flight_bytes;
};

/// A run, and the topics that it was made with.
struct RunArguments {
  std::string run, topics;
  QueryFormat format = QueryFormat::automatic;
};
/// --run, -q/--queries and --queries-format.
void add_run_options(CLI::App& command, RunArguments& arguments);
/// Throws a usage error unless the first two are given.
void require_run(const RunArguments& arguments);

/// The topics and the lines of the run, and judgements if `qrels` is not empty, joined; `topics` gets the number of the
/// run's topics. The shards and the pages must stay.
RunTopics read_run_topics(const RunArguments& arguments, const std::string& qrels, const IndexShards& shards,
                          IndexPages& pages, const CommonOptions& options, const Resources& resources,
                          std::uint64_t& topics);

// How GPUs rerank: options of commands with a second stage.

struct GpuRerankArguments {
  std::string ranker_memory;
  std::optional<std::size_t> fewest_documents;
  bool fast_math = false;

  bool is_set() const { return !ranker_memory.empty() || fewest_documents || fast_math; }
  gpu::GpuRerankOptions options() const;
};

/// --ranker-memory, --gpu-from and --fast-math.
void add_gpu_rerank_options(CLI::App& command, GpuRerankArguments& arguments);

/// Where documents were scored, for --stats.
Json gpu_rerank_json(const gpu::GpuRerankCounts& counts);

/// --ranker, --features and --rerank of a command that answers queries.
struct SecondStageArguments {
  RankerArguments ranker;
  GpuRerankArguments gpu;
  std::size_t rerank = 1000;  ///< documents of a query that the model scores
  bool is_set = false;        ///< --rerank or --features is given

  bool wanted() const { return !ranker.ranker.empty(); }
  /// Throws usage errors for options that have no effect, and if fewer than k documents are to be reranked.
  void check(std::size_t k) const;
};
void add_second_stage_options(CLI::App& command, SecondStageArguments& arguments);

/// Reranks results of queries of an index, or of all its shards. Many threads may use it at once.
class SecondStage {
 public:
  /// The shards must stay. Throws like ForwardReader::open() and Reranker.
  SecondStage(const RankerArguments& arguments, const IndexShards& shards);

  /// What it takes of a command's memory.
  static constexpr std::uint64_t memory_share = 4;
  /// Limits what it takes; `pages`, which must stay, counts what it reads. Call before rerank().
  void limit_memory(std::uint64_t bytes, unsigned threads, IndexPages& pages) { memory_ = {bytes, threads, pages}; }
  std::span<const ForwardReader> forwards() const { return forwards_; }

  /// Reranks on a GPU from now on, as gpu::make_gpu_reranker() says. What is pinned is not part of limit_memory()'s
  /// bytes. Call before a query engine takes the GPU's memory.
  void use_gpu(QueryDevice device, gpu::GpuRerankOptions options, Progress& progress);
  /// Beside a query engine, it takes one of this many parts of the GPU's memory, at most.
  static constexpr std::uint64_t gpu_memory_divisor = 4;
  /// Leaves to the second stage what it may still take of the memory of the GPU with the number `gpu`. `options`: of an
  /// engine that uses this GPU, or others beside it. Does nothing on the CPU.
  void reserve_gpu_memory(unsigned gpu, gpu::GpuMemoryOptions& options) const;
  /// Null: on the CPU.
  const gpu::GpuReranker* on_gpu() const { return on_gpu_.get(); }

  /// As Reranker::rerank(); returns how long it took, in microseconds.
  double rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k) const;
  /// As rerank_topics().
  RerankReport rerank(std::span<TopicResults> topics, std::size_t k, const Resources& resources) const;

 private:
  std::vector<ForwardReader> forwards_;
  FeatureMemory memory_;
  Reranker reranker_;
  std::unique_ptr<gpu::GpuReranker> on_gpu_;
  mutable tbb::enumerable_thread_specific<Reranker::Space> spaces_;
};

}  // namespace quern::tools
