#pragma once
#include "quern/gpu/worker/batch_view.cuh"

/// Sorting and merging of rank keys by a whole thread block, in shared memory: bitonic sort.
namespace quern::gpu {

/// The smallest power of two that is not below `count`, and at least 1: the space that `count` keys are sorted in.
constexpr std::uint32_t sorted_space(std::uint32_t count) {
  std::uint32_t space = 1;
  while (space < count) space *= 2;
  return space;
}

/// Merges the two halves of each run of `run` keys, of which the first rises and the second falls or the other way
/// round: the first run then rises, the next falls, and so on. `run` and `size` are powers of two.
__device__ inline void merge_halves(RankKey* keys, std::uint32_t size, std::uint32_t run) {
  for (std::uint32_t distance = run / 2; distance > 0; distance /= 2) {
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < size / 2; i += blockDim.x) {
      const std::uint32_t low = 2 * i - (i & (distance - 1)), high = low + distance;
      const bool rising = (low & run) == 0;
      const RankKey a = keys[low], b = keys[high];
      if ((a > b) == rising) keys[low] = b, keys[high] = a;
    }
  }
}

/// Sorts `count` keys in rising order; what follows them in sorted_space(count) becomes no_key.
__device__ inline void sort_keys(RankKey* keys, std::uint32_t count) {
  const std::uint32_t size = sorted_space(count);
  for (std::uint32_t i = count + threadIdx.x; i < size; i += blockDim.x) keys[i] = no_key;
  for (std::uint32_t run = 2; run <= size; run *= 2) merge_halves(keys, size, run);
  __syncthreads();
}

/// Replaces `best`, a power of two of `size` rising keys, by the `size` smallest of them and of the `count` rising keys
/// of `more`.
__device__ inline void merge_best(RankKey* best, std::uint32_t size, const RankKey* more, std::uint32_t count) {
  // The smaller of each pair, of rising and of falling keys, first rise and then fall.
  for (std::uint32_t i = threadIdx.x; i < count && i < size; i += blockDim.x) {
    RankKey& worst = best[size - 1 - i];
    worst = min(worst, more[i]);
  }
  merge_halves(best, size, size);
  __syncthreads();
}

}  // namespace quern::gpu
