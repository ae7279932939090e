#include "quern/gpu/query_backend.hpp"

#include "quern/gpu/device/device_info.hpp"

namespace quern {

QueryBackend::QueryBackend(std::vector<const QueryEngine*> engines, BackendOptions options, Progress& progress)
    : cpu_(std::move(engines)), backend_(&cpu_) {
  if (options.device != QueryDevice::cpu && !list_gpus().empty()) gpu::gpu_numbers(options.gpu.gpu, options.gpu.gpus);
  if (options.shard_memory.empty()) options.shard_memory.resize(cpu_.engines().size(), options.gpu.memory);
  shards_ = make_unless_on_cpu(options.device, options.notice, [&] {
    return std::make_unique<GpuShards>(cpu_.engines(), options.gpu, options.shard_memory,
                                       options.device != QueryDevice::gpu, progress);
  });
  if (!shards_) return;
  gpus_ = std::make_unique<FallibleGpus>(*shards_, options.notice);
  if (options.device == QueryDevice::both) {
    HybridOptions& hybrid = options.hybrid;
    hybrid.max_batch = options.gpu.batch_queries;
    hybrid.strategy = options.gpu.strategy->name;
    hybrid.counts_missing = hybrid.counts_missing && shards_->lacks_lists();
    hybrid_ = std::make_unique<HybridBackend>(cpu_, *gpus_, std::move(options.costs), std::move(hybrid));
    backend_ = hybrid_.get();
    return;
  }
  CpuBackend* const cpu = options.device == QueryDevice::automatic ? &cpu_ : nullptr;
  failover_ = std::make_unique<FailoverBackend>(*gpus_, cpu, options.notice);
  backend_ = failover_.get();
}

}  // namespace quern

namespace quern::gpu {

std::unique_ptr<GpuReranker> make_gpu_reranker(const Reranker& on_cpu, QueryDevice device, GpuRerankOptions options,
                                               Progress& progress) {
  if (device == QueryDevice::cpu) return nullptr;
  options.cpu_goes_on = device != QueryDevice::gpu;
  try {
    require_gpu(options.gpu);
    return std::make_unique<GpuReranker>(on_cpu, options, progress);
  } catch (const CudaError& error) {
    if (device != QueryDevice::automatic) throw;
    options.notice(std::string("results are reranked on the CPU: ") + error.what());
    return nullptr;
  }
}

}  // namespace quern::gpu
