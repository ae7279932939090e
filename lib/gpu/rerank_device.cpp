#include "quern/gpu/rerank_device.hpp"

#include <string>

#include "quern/core/error.hpp"

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
