#pragma once
#include <tbb/parallel_for.h>

#include <cstddef>

namespace quern::gpu {

/// Calls what(i) for 0 <= i < count in many threads, where each call takes a few microseconds at most: a few stay in
/// this one, since waking others takes longer.
template <class What>
void in_parallel(std::size_t count, const What& what) {
  constexpr std::size_t few = 64;
  if (count <= few) {
    for (std::size_t i = 0; i < count; ++i) what(i);
    return;
  }
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, few), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) what(i);
  });
}

}  // namespace quern::gpu
