#pragma once
#include "quern/gpu/failover.hpp"
#include "quern/gpu/hybrid_backend.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"

namespace quern {

/// Which processors answer queries, and how.
struct BackendOptions {
  QueryDevice device = QueryDevice::cpu;
  GpuOptions gpu;
  std::vector<gpu::GpuMemoryOptions> shard_memory = {};  ///< of GPUs, for each shard; empty: as `gpu` says
  HybridOptions hybrid = {};  ///< with `both`; queries of a batch, strategy and what GPUs lack are those of `gpu`
  CostModel costs = {};       ///< likewise
  FailoverNotice notice = [](const std::string&) {};
};

/// The backend of a device, for an index in shards or not.
class QueryBackend {
 public:
  /// Copies the index to GPUs that are to answer queries. `engines`: as CpuBackend takes them. Throws like GpuShards
  /// if the device needs a GPU. With `automatic` it calls the notice and answers on the CPU instead, except that GPU
  /// numbers which don't exist beside GPUs that do are errors (InvalidArgument).
  QueryBackend(std::vector<const QueryEngine*> engines, BackendOptions options, Progress& progress);

  QueryBackend(const QueryBackend&) = delete;
  QueryBackend& operator=(const QueryBackend&) = delete;

  SearchBackend& backend() { return *backend_; }
  /// For single queries in the calling thread.
  const CpuBackend& cpu() const { return cpu_; }
  /// Statistics of GPUs, by shard; empty: there are none.
  std::vector<GpuStatistics> gpu_statistics() const {
    return gpus_ ? gpus_->statistics() : std::vector<GpuStatistics>();
  }
  /// How queries were shared; null unless the device is `both`.
  const HybridFigures* hybrid() const { return hybrid_ ? &hybrid_->figures() : nullptr; }

 private:
  CpuBackend cpu_;
  std::unique_ptr<GpuShards> shards_;  ///< null: the CPU answers
  std::unique_ptr<FallibleGpus> gpus_;
  std::unique_ptr<FailoverBackend> failover_;
  std::unique_ptr<HybridBackend> hybrid_;
  SearchBackend* backend_;
};

}  // namespace quern

namespace quern::gpu {

/// A second stage on this device; null if the CPU reranks. With `automatic`, options.notice gets the reason if no GPU
/// does. options.cpu_goes_on follows from the device. `on_cpu` must outlive it. Throws like
/// GpuReranker, and like require_gpu() if `device` needs a GPU.
std::unique_ptr<GpuReranker> make_gpu_reranker(const Reranker& on_cpu, QueryDevice device, GpuRerankOptions options,
                                               Progress& progress);

}  // namespace quern::gpu
