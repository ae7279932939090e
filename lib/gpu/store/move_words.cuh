#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"

namespace quern::gpu {

/// An item of a moving kernel: words from a staging buffer or a mapped file, and their place.
struct MovedWords {
  std::uint32_t* to = nullptr;
  const std::uint32_t* from = nullptr;
  std::uint64_t words = 0;
};

/// Words that a thread loads at a time, and lanes that move an item together. Their loads are one memory line, which a
/// link transfers at once. Many items are short, so a whole warp per item would be no faster.
inline constexpr unsigned words_per_load = 4, lanes_per_item = 8;
/// A thread's loads in flight before it stores the first word. Reading host memory takes microseconds.
inline constexpr unsigned loads_per_step = words_per_mover / words_per_load,
                          words_per_step = lanes_per_item * words_per_mover;

/// Moves words to their places, by thread blocks of moving_threads; `next_item` starts at 0. Each group of lanes takes
/// the next item when it has finished one, since items differ in length. The groups of a warp proceed in steps, so none
/// waits for another's item. The next item is read ahead while loads are in flight. Loads are aligned, so they may
/// include other words in the same 16 bytes.
__device__ inline void move_words(const MovedWords* items, unsigned count, unsigned* next_item) {
  const unsigned lane = threadIdx.x % lanes_per_item, first_lane = threadIdx.x % lanes_per_warp - lane,
                 group = blockIdx.x * (moving_threads / lanes_per_item) + threadIdx.x / lanes_per_item,
                 groups = gridDim.x * (moving_threads / lanes_per_item);
  MovedWords item, next;
  unsigned begin = 0, before = 0, end = 0, after_next = group + groups;
  if (group < count) next = items[group];
  while (true) {
    const bool takes = begin >= end;
    if (takes) {
      item = next;
      next = after_next < count ? items[after_next] : MovedWords();
      before = reinterpret_cast<std::uintptr_t>(item.from) / sizeof(std::uint32_t) % words_per_load;
      end = item.words == 0 ? 0 : before + static_cast<unsigned>(item.words);
      begin = 0;
    }
    if (!__any_sync(all_lanes, end > 0)) return;
    const auto* from = reinterpret_cast<const uint4*>(item.from - before);
    const unsigned first = begin + lane * words_per_load;
    uint4 held[loads_per_step];
#pragma unroll
    for (unsigned j = 0; j < loads_per_step; ++j)
      if (const unsigned at = first + j * lanes_per_item * words_per_load; at < end)
        held[j] = from[at / words_per_load];
    unsigned taken = 0;
    if (takes && lane == 0 && end > 0) taken = atomicAdd(next_item, 1);
#pragma unroll
    for (unsigned j = 0; j < loads_per_step; ++j) {
      const std::uint32_t words[words_per_load] = {held[j].x, held[j].y, held[j].z, held[j].w};
#pragma unroll
      for (unsigned w = 0; w < words_per_load; ++w)
        if (const unsigned at = first + j * lanes_per_item * words_per_load + w; at >= before && at < end)
          item.to[at - before] = words[w];
    }
    taken = __shfl_sync(all_lanes, taken, first_lane);
    if (takes && end > 0) after_next = 2 * groups + taken;
    begin += words_per_step;
  }
}

}  // namespace quern::gpu
