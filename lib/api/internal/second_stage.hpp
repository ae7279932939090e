#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <map>

#include "quern/api/second_stage.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/rank/run_topics.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/top_k.hpp"

namespace quern::api {

/// Learned models that rerank results of an index, or of all its shards. Many threads may use them at once.
class SecondStage {
 public:
  /// The shards must stay. Throws as ForwardReader::open(), quern::Reranker and read_pairs() do.
  SecondStage(const RankerOptions& ranker, const IndexShards& shards);

  /// The divisor of a command's memory that gives the second stage's part.
  static constexpr std::uint64_t memory_share = 4;
  /// Limits its memory; `pages`, which must stay, counts what it reads. Call before rerank().
  void limit_memory(std::uint64_t bytes, unsigned threads, IndexPages& pages) { memory_ = {bytes, threads, pages}; }
  std::span<const ForwardReader> forwards() const { return forwards_; }

  /// Reranks on a GPU from now on, as gpu::make_gpu_reranker() says; adds the ranker's options to `options`. Pinned
  /// memory is not part of limit_memory()'s bytes. Call before a query engine takes the GPU's memory.
  void use_gpu(QueryDevice device, gpu::GpuRerankOptions options, Progress& progress);
  /// Beside a query engine, it takes at most the GPU's memory divided by this.
  static constexpr std::uint64_t gpu_memory_divisor = 4;
  /// Leaves to the second stage what it may still take of the memory of the GPU with the number `gpu`. `options`: of an
  /// engine that uses this GPU, or others beside it. Does nothing on the CPU.
  void reserve_gpu_memory(unsigned gpu, gpu::GpuMemoryOptions& options) const;
  /// Null: on the CPU.
  const gpu::GpuReranker* on_gpu() const { return on_gpu_.get(); }

  /// The number of the model that the options name for a topic; null if they name none.
  const std::uint32_t* model_of(const std::string& qid) const {
    const auto found = by_topic_.find(qid);
    return found == by_topic_.end() ? nullptr : &found->second;
  }
  std::size_t topics_with_models() const { return by_topic_.size(); }

  /// As quern::Reranker::rerank(), with model 0; returns its time in microseconds.
  double rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k) const;
  /// As rerank_topics().
  RerankReport rerank(std::span<TopicResults> topics, std::size_t k, const Resources& resources) const;

 private:
  RankerOptions options_;
  std::vector<ForwardReader> forwards_;
  FeatureMemory memory_;
  std::map<std::string, std::uint32_t> by_topic_;  ///< models by topic
  quern::Reranker reranker_;
  std::unique_ptr<gpu::GpuReranker> on_gpu_;
  mutable tbb::enumerable_thread_specific<quern::Reranker::Space> spaces_;
};

/// Where documents were scored.
ManifestJson figures_of(const gpu::GpuRerankCounts& counts);

}  // namespace quern::api
