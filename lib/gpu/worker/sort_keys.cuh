#pragma once
#include "quern/gpu/worker/batch_view.cuh"

/// Sorting and merging of rank keys by a whole thread block, in shared memory: bitonic sort.
namespace quern::gpu {

/// The space for sorting `count` keys: the smallest power of two that is not below `count`, and at least 1.
constexpr std::uint32_t sorted_space(std::uint32_t count) {
  std::uint32_t space = 1;
  while (space < count) space *= 2;
  return space;
}

/// Merges the halves of each sequence of `length` keys, of which one rises and the other falls. The first sequence then
/// rises, the next falls, and so on. `length` and `size` are powers of two.
__device__ inline void merge_halves(RankKey* keys, std::uint32_t size, std::uint32_t length) {
  for (std::uint32_t distance = length / 2; distance > 0; distance /= 2) {
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < size / 2; i += blockDim.x) {
      const std::uint32_t low = 2 * i - (i & (distance - 1)), high = low + distance;
      const bool rising = (low & length) == 0;
      const RankKey a = keys[low], b = keys[high];
      if ((a > b) == rising) keys[low] = b, keys[high] = a;
    }
  }
}

/// Sorts `count` keys in rising order; sets the remaining keys of sorted_space(count) to no_key.
__device__ inline void sort_keys(RankKey* keys, std::uint32_t count) {
  const std::uint32_t size = sorted_space(count);
  for (std::uint32_t i = count + threadIdx.x; i < size; i += blockDim.x) keys[i] = no_key;
  for (std::uint32_t length = 2; length <= size; length *= 2) merge_halves(keys, size, length);
  __syncthreads();
}

/// Replaces `best`, a power of two of rising keys, by the `size` smallest of these and of the rising keys of `more`.
__device__ inline void merge_best(RankKey* best, std::uint32_t size, const RankKey* more, std::uint32_t count) {
  // The smaller keys of pairs of a rising and a falling key form a sequence that rises and falls.
  for (std::uint32_t i = threadIdx.x; i < count && i < size; i += blockDim.x) {
    RankKey& worst = best[size - 1 - i];
    worst = min(worst, more[i]);
  }
  merge_halves(best, size, size);
  __syncthreads();
}

/// A window's results, as in BatchView, and limits for the next window.
struct MergedWindow {
  const RankKey* results = nullptr;
  const std::uint32_t* num_results = nullptr;
  RankKey* limits = nullptr;          ///< of the next window: see BatchView::limits
  const float* next_bound = nullptr;  ///< upper bound of scores after the window; null: unknown
  bool is_first = false;              ///< there are no earlier results
};

/// Merges a query's results in a window into its earlier results. All keys differ, since windows are disjoint, so a
/// key's rank is its place in its own array plus the number of smaller keys in the other. Called by a whole thread
/// block. `keys`: space for 2 k keys in shared memory.
__device__ inline void merge_window(const BatchView& so_far, const MergedWindow& window, std::uint32_t number,
                                    RankKey* keys) {
  const std::uint64_t first = std::uint64_t{number} * so_far.k;
  const std::uint32_t before = window.is_first ? 0 : so_far.num_results[number], more = window.num_results[number];
  for (std::uint32_t i = threadIdx.x; i < before; i += blockDim.x) keys[i] = so_far.results[first + i];
  for (std::uint32_t i = threadIdx.x; i < more; i += blockDim.x) keys[before + i] = window.results[first + i];
  __syncthreads();
  const std::uint32_t all = min(before + more, so_far.k);
  for (std::uint32_t i = threadIdx.x; i < before + more; i += blockDim.x) {
    const RankKey key = keys[i];
    const std::uint32_t rank =
        i < before ? i + lower_bound(keys + before, 0, more, key) : i - before + lower_bound(keys, 0, before, key);
    if (rank >= all) continue;
    so_far.results[first + rank] = key;
    // Later documents lose ties, so the worst result's key is their limit.
    if (rank == so_far.k - 1)
      window.limits[number] = window.next_bound != nullptr && *window.next_bound <= score_of_key(key) ? 0 : key;
  }
  if (threadIdx.x == 0) so_far.num_results[number] = all;
}

}  // namespace quern::gpu
