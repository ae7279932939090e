#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/top_k.hpp"

#include "second_stage_options.hpp"

namespace quern::tools {

/// --ranker, --features and --rerank of a command that answers queries.
struct SecondStageArguments {
  RankerArguments ranker;
  GpuRerankArguments gpu;
  std::size_t rerank = 1000;  ///< documents of a query that the model scores
  bool is_set = false;        ///< --rerank or --features is given

  bool wanted() const { return !ranker.ranker.empty(); }
  /// Throws wrong usage for options that have no effect, and if fewer documents are reranked than the k that are
  /// wanted.
  void check(std::size_t k) const;
};
void add_second_stage_options(CLI::App& command, SecondStageArguments& arguments);

/// Reranks results of queries of an index, or of all its shards. Many threads may use it at once.
class SecondStage {
 public:
  /// The shards must stay. Throws as ForwardReader::open() and ShardedReranker do.
  SecondStage(const RankerArguments& arguments, const IndexShards& shards);

  /// What it takes of a command's memory.
  static constexpr std::uint64_t memory_share = 4;
  /// Limits what it takes of a shard; `pages`, which must stay, is told what is read. To be called before rerank().
  void limit_memory(std::size_t shard, std::uint64_t bytes, unsigned threads, IndexPages& pages) {
    memory_[shard] = {bytes, threads, pages};
  }
  const ForwardReader& forward(std::size_t shard) const { return forwards_[shard]; }

  /// Reranks on a GPU from now on, as make_gpu_reranker() says. `memory`: of the whole command, but for what is pinned,
  /// which is not of limit_memory()'s bytes. To be called before a query engine takes the GPU's memory.
  void use_gpu(QueryDevice device, unsigned gpu, const GpuRerankArguments& arguments, GpuRerankMemory memory,
               Progress& progress, const FailoverNotice& notice);
  /// Of the GPU's memory that a command may take, the second stage takes one part of so many at most.
  static constexpr std::uint64_t gpu_memory_parts = 4;
  /// Leaves to the second stage what it may still take of the memory of a GPU; `options` are those of an engine whose
  /// first GPU has the number `gpu`. Does nothing on the CPU.
  void reserve_gpu_memory(unsigned gpu, gpu::GpuMemoryOptions& options) const;
  /// Null: on the CPU.
  const gpu::GpuReranker* on_gpu() const { return on_gpu_.get(); }

  /// As ShardedReranker::rerank(); returns how long it took, in microseconds.
  double rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k) const;

 private:
  std::vector<ForwardReader> forwards_;
  std::vector<FeatureMemory> memory_;
  ShardedReranker reranker_;
  std::unique_ptr<gpu::GpuReranker> on_gpu_;
  mutable tbb::enumerable_thread_specific<ShardedReranker::Space> spaces_;
};

}  // namespace quern::tools
