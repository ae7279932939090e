#pragma once
#include "quern/gpu/worker/batch_view.cuh"

namespace quern::gpu {

/// The k best documents of one thread: a heap of rank keys, the worst on top. Keys of neighbouring threads are
/// interleaved in memory. Documents are added with rising docIDs.
class LocalTop {
 public:
  /// Below any score.
  static constexpr float no_threshold = -1;

  /// `keys`: k keys for each thread of the thread block.
  __device__ LocalTop(RankKey* keys, std::uint32_t k) : keys_(keys + threadIdx.x), k_(k) {}

  /// Only documents with a score above `threshold` count.
  __device__ void clear(float threshold) {
    size_ = 0;
    threshold_ = threshold;
  }
  /// The score that further documents must exceed.
  __device__ float threshold() const { return threshold_; }
  __device__ void add(std::uint32_t docid, float score) {
    if (!(score > threshold_)) return;
    const RankKey key = rank_key(score, docid);
    if (size_ < k_)
      push(key);
    else
      sift_down(key, size_);
    if (size_ == k_) threshold_ = score_of_key(at(0));
  }
  /// Sorts the keys, the best first. No document can be added afterwards.
  __device__ void sort() {
    for (std::uint32_t end = size_; end > 1; --end) {
      const RankKey worst = at(0), last = at(end - 1);
      sift_down(last, end - 1);
      at(end - 1) = worst;
    }
  }
  __device__ std::uint32_t size() const { return size_; }
  __device__ RankKey operator[](std::uint32_t i) const { return at(i); }

 private:
  __device__ RankKey& at(std::uint32_t i) const { return keys_[std::uint64_t{i} * blockDim.x]; }

  __device__ void push(RankKey key) {
    std::uint32_t place = size_++;
    for (; place > 0; place = (place - 1) / 2) {
      const RankKey above = at((place - 1) / 2);
      if (above >= key) break;
      at(place) = above;
    }
    at(place) = key;
  }
  /// Replaces the top key, in a heap of `size`.
  __device__ void sift_down(RankKey key, std::uint32_t size) {
    std::uint32_t place = 0;
    for (;;) {
      std::uint32_t child = 2 * place + 1;
      if (child >= size) break;
      RankKey worst = at(child);
      if (child + 1 < size && at(child + 1) > worst) worst = at(++child);
      if (worst <= key) break;
      at(place) = worst;
      place = child;
    }
    at(place) = key;
  }

  RankKey* keys_;
  std::uint32_t k_, size_ = 0;
  float threshold_ = no_threshold;
};

/// Writes the k best of all threads' keys to `results`, and returns how many there are. `bests`: two keys per warp. By
/// the whole thread block.
__device__ inline std::uint32_t merge_tops(LocalTop& top, std::uint32_t k, RankKey* results, RankKey* bests) {
  constexpr RankKey none = ~RankKey{0};
  const unsigned warps = blockDim.x / lanes_per_warp;
  top.sort();
  std::uint32_t next = 0;
  for (std::uint32_t merged = 0; merged < k; ++merged) {
    const RankKey own = next < top.size() ? top[next] : none;
    RankKey best = own;
    for (unsigned distance = lanes_per_warp / 2; distance > 0; distance /= 2)
      best = min(best, static_cast<RankKey>(__shfl_xor_sync(all_lanes, best, distance)));
    // Two arrays alternate, so that no warp overwrites what another still reads.
    RankKey* of_warps = bests + merged % 2 * warps;
    if (lane_id() == 0) of_warps[threadIdx.x / lanes_per_warp] = best;
    __syncthreads();
    for (unsigned warp = 0; warp < warps; ++warp) best = min(best, of_warps[warp]);
    if (best == none) return merged;
    if (own == best) {
      results[merged] = best;
      ++next;
    }
  }
  return k;
}

}  // namespace quern::gpu
