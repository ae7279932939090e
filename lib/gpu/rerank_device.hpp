#pragma once
#include <memory>

#include "quern/gpu/failover.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"

namespace quern::gpu {

/// A second stage on the device that was asked for; null if it is to run on the CPU. With `automatic`, options.notice
/// is told why no GPU reranks. options.cpu_goes_on follows from the device. `on_cpu` must outlive it. Throws as
/// GpuReranker does, and as require_gpu() if `device` needs a GPU.
std::unique_ptr<GpuReranker> make_gpu_reranker(const Reranker& on_cpu, QueryDevice device, GpuRerankOptions options,
                                               Progress& progress);

}  // namespace quern::gpu
