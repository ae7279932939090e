#pragma once
#include <cuda_runtime_api.h>

#include "quern/gpu/engine/batch_view.cuh"
#include "quern/gpu/partition/partition_layout.hpp"

/// Launches of the strategy `partition`, one source per coding.
namespace quern::gpu {

struct PartitionWork {
  PartitionMethod method = PartitionMethod::unite;
  PartitionLayout layout;
  std::uint32_t* room = nullptr;  ///< layout.words for each thread block
  float max_static_score = 0;     ///< bounds what documents' scores begin with
};

template <Coding coding>
struct PartitionKernels {
  /// Thread blocks of so many threads that run at a time.
  static unsigned resident(unsigned threads, bool quantized);
  /// Answers all queries of a batch with so many thread blocks.
  static void run(const IndexView& index, const BatchView& batch, const PartitionWork& work, unsigned blocks,
                  bool quantized, cudaStream_t stream);
};

}  // namespace quern::gpu
