#pragma once
#include <cstdint>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/device/warp.cuh"

namespace quern::gpu {

/// Words that a kernel moves to their place, from a piece of staging memory or from where a file is mapped.
struct MovedWords {
  std::uint32_t* to = nullptr;
  const std::uint32_t* from = nullptr;
  std::uint64_t words = 0;
};

/// Words that a thread loads at a time, and threads that move a run: their loads are a line, which is what a link
/// brings at a time. A warp would bring no more of a short run, and lists have few words in a small window.
inline constexpr unsigned words_per_load = 4, lanes_per_run = 8;
/// Loads of a thread that are under way together, before the first word is stored: words of the host's memory take
/// microseconds.
inline constexpr unsigned loads_per_step = words_per_mover / words_per_load,
                          words_per_step = lanes_per_run * words_per_mover;

/// Moves words to their places, by blocks of moving_threads; `next_run` is 0 at first. A group of lanes moves a run at
/// a time and takes the next when it has ended, as runs differ in length. All groups of a warp go on step by step, so
/// that none waits for another's run. What is next is read ahead, while words are on their way. Loads are aligned, and
/// so may read words beside the run's, in the same 16 bytes.
__device__ inline void move_words(const MovedWords* runs, unsigned count, unsigned* next_run) {
  const unsigned lane = threadIdx.x % lanes_per_run, first_lane = threadIdx.x % lanes_per_warp - lane,
                 group = blockIdx.x * (moving_threads / lanes_per_run) + threadIdx.x / lanes_per_run,
                 groups = gridDim.x * (moving_threads / lanes_per_run);
  MovedWords run, next;
  unsigned begin = 0, before = 0, end = 0, after_next = group + groups;
  if (group < count) next = runs[group];
  while (true) {
    const bool takes = begin >= end;
    if (takes) {
      run = next;
      next = after_next < count ? runs[after_next] : MovedWords();
      before = reinterpret_cast<std::uintptr_t>(run.from) / sizeof(std::uint32_t) % words_per_load;
      end = run.words == 0 ? 0 : before + static_cast<unsigned>(run.words);
      begin = 0;
    }
    if (!__any_sync(all_lanes, end > 0)) return;
    const auto* from = reinterpret_cast<const uint4*>(run.from - before);
    const unsigned first = begin + lane * words_per_load;
    uint4 held[loads_per_step];
#pragma unroll
    for (unsigned j = 0; j < loads_per_step; ++j)
      if (const unsigned at = first + j * lanes_per_run * words_per_load; at < end) held[j] = from[at / words_per_load];
    unsigned taken = 0;
    if (takes && lane == 0 && end > 0) taken = atomicAdd(next_run, 1);
#pragma unroll
    for (unsigned j = 0; j < loads_per_step; ++j) {
      const std::uint32_t words[words_per_load] = {held[j].x, held[j].y, held[j].z, held[j].w};
#pragma unroll
      for (unsigned w = 0; w < words_per_load; ++w)
        if (const unsigned at = first + j * lanes_per_run * words_per_load + w; at >= before && at < end)
          run.to[at - before] = words[w];
    }
    taken = __shfl_sync(all_lanes, taken, first_lane);
    if (takes && end > 0) after_next = 2 * groups + taken;
    begin += words_per_step;
  }
}

}  // namespace quern::gpu
