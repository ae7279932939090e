#pragma once
#include <algorithm>
#include <cstddef>

#include "quern/plan/schedule_policy.hpp"

namespace quern {

/// How many queries a processor takes of those that wait for its kind. While a thread of the CPU
/// takes one, no other thread can, so that of many it takes several; it leaves as many for each of the others, so
/// that none is idle while queries wait behind a long one.
inline std::size_t queries_at_once(Processor processor, std::size_t waiting, std::size_t most, unsigned cpu_threads) {
  if (processor == Processor::gpu) return most;
  const std::size_t share = waiting / (2 * std::max<std::size_t>(cpu_threads, 1));
  return std::clamp<std::size_t>(share, 1, std::max<std::size_t>(most, 1));
}

}  // namespace quern
