#pragma once
#include "quern/gpu/papers/partition/partition_plain.cuh"
#include "quern/gpu/papers/partition/partition_wand.cuh"
#include "quern/gpu/worker/strategy.hpp"

namespace quern::gpu {

/// The shared memory of a thread block.
struct PartitionShared {
  std::uint32_t number;  ///< of the query
  RankKey bests[2 * max_partitions / lanes_per_warp];
};

/// One thread block per query, one range of docIDs per thread, all of the same length (Huang et al.: GPU-Accelerated
/// Block-Max Query Processing, ICA3PP 2017, section 3.2); the threads' results are merged.
template <Coding coding, bool quantized>
class PartitionBlock {
 public:
  __device__ PartitionBlock(const IndexView& index, const BatchView& batch, const PartitionWork& work,
                            PartitionShared& shared)
      : index_(index),
        batch_(batch),
        work_(work),
        shared_(shared),
        cursors_(index, batch, work.layout, buffer()),
        top_(reinterpret_cast<RankKey*>(buffer() + work.layout.heaps_word), batch.k) {
    const std::uint32_t first_docid = batch.first_docid, end_docid = min(batch.end_docid, index.num_documents);
    const std::uint32_t share = (end_docid - first_docid - 1) / blockDim.x + 1;
    const std::uint64_t first = first_docid + std::uint64_t{share} * threadIdx.x;
    begin_ = static_cast<std::uint32_t>(min(first, std::uint64_t{end_docid}));
    end_ = static_cast<std::uint32_t>(min(first + share, std::uint64_t{end_docid}));
  }

  /// Answers one query after another.
  __device__ void run() {
    for (;;) {
      if (threadIdx.x == 0) shared_.number = atomicAdd(batch_.next_work, 1u);
      __syncthreads();
      const std::uint32_t number = shared_.number;
      if (number >= batch_.num_queries) return;
      search(number);
      __syncthreads();
      const std::uint32_t found =
          merge_tops(top_, batch_.k, batch_.results + std::uint64_t{number} * batch_.k, shared_.bests);
      if (threadIdx.x == 0) batch_.num_results[number] = found;
      __syncthreads();
    }
  }

 private:
  __device__ std::uint32_t* buffer() const { return work_.buffer + blockIdx.x * work_.layout.words; }

  /// Finds the thread's best documents.
  __device__ void search(std::uint32_t number) {
    const RankKey limit = batch_.limit_of(number);
    top_.clear(limit == no_key ? LocalTop::no_threshold : score_of_key(limit));
    if (limit == 0 || begin_ >= end_) return;
    cursors_.take(batch_.queries[number], work_.method == PartitionMethod::unite);
    if (work_.method == PartitionMethod::intersect)
      intersect_partition(index_, cursors_, top_, begin_, end_);
    else if (work_.method == PartitionMethod::unite)
      unite_partition(index_, cursors_, top_, begin_, end_);
    else
      PartitionWand<coding, quantized>(index_, cursors_, top_, work_.max_static_score,
                                       work_.method == PartitionMethod::block_max_wand)
          .run(begin_, end_);
  }

  const IndexView& index_;
  const BatchView& batch_;
  const PartitionWork& work_;
  PartitionShared& shared_;
  PartitionCursors<coding, quantized> cursors_;
  LocalTop top_;
  std::uint32_t begin_ = 0, end_ = 0;  ///< the thread's range of docIDs
};

}  // namespace quern::gpu
