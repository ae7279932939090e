#pragma once
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstddef>

namespace quern::gpu {

/// Calls work(i), which takes microseconds, for 0 <= i < count in parallel; a few calls in this thread, to wake no
/// other.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  constexpr std::size_t few = 64;
  if (count <= few) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, few), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) work(i);
  });
}

}  // namespace quern::gpu
