#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "quern/core/scratch_memory.hpp"

#include "catch.hpp"
#include "sanitized.hpp"

namespace quern {
namespace {

/// Takes `count` buffers at the same time, fills them completely and returns them; returns their addresses.
std::set<void*> use_buffers(std::size_t bytes, std::size_t count) {
  std::vector<void*> buffers(count);
  for (void*& buffer : buffers) std::memset(buffer = ScratchMemory::take(bytes), 7, bytes);
  for (void* const buffer : buffers) ScratchMemory::give_back(buffer, bytes);
  return {buffers.begin(), buffers.end()};
}

}  // namespace

TEST_CASE("a thread reuses the buffers that it returned, up to a limit per kind", "[core]") {
  for (const ScratchMemory::Kind& kind : ScratchMemory::kinds) {
    INFO(kind.bytes << " bytes");
    const auto first = use_buffers(kind.bytes, kind.max_kept + 3);
    REQUIRE(first.size() == kind.max_kept + 3);
    const auto second = use_buffers(kind.bytes - 1, kind.max_kept);
    REQUIRE(second.size() == kind.max_kept);
    if (!testing::sanitized) CHECK(std::includes(first.begin(), first.end(), second.begin(), second.end()));
  }
  const std::size_t larger = 2 * ScratchMemory::kinds.back().bytes;
  CHECK(use_buffers(larger, 3).size() == 3);
}

TEST_CASE("another thread may return buffers, and they move with their array", "[core]") {
  ScratchArray<int> array(100);
  array[99] = 3;
  int* const data = array.get();
  bool same = false;
  std::thread([taken = std::move(array), data, &same] {
    same = taken.get() == data && taken[99] == 3 && taken.size() == 100;
  }).join();
  CHECK(same);
  CHECK(array.get() == nullptr);
}

}  // namespace quern
