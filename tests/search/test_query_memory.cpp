#include <atomic>
#include <thread>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/search/query_memory.hpp"

#include "catch.hpp"

using namespace quern;

TEST_CASE("queries of usual size run concurrently, larger ones one at a time", "[query]") {
  const QueryMemory memory(8000, 4);
  QueryMemory::Claim usual(memory), large(memory);
  usual.raise_to(218);
  CHECK_FALSE(usual.is_alone());
  large.raise_to(219);
  CHECK(large.is_alone());
  large.raise_to(6000);
  QueryMemory::Claim beside(memory);
  beside.raise_to(218);
  CHECK_FALSE(beside.is_alone());

  std::atomic<int> running = 0, most = 0;
  std::vector<std::thread> threads;
  {
    const QueryMemory other(8000, 4);
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int query = 0; query < 100; ++query) {
          QueryMemory::Claim claim(other);
          claim.raise_to(1000);
          const int now = ++running;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
          --running;
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(most == 1);
}

TEST_CASE("a query that needs more than the total memory is refused", "[query]") {
  const QueryMemory memory(8000, 4);
  QueryMemory::Claim claim(memory);
  CHECK_THROWS_AS(claim.raise_to(6001), InvalidArgument);
  CHECK_NOTHROW(claim.raise_to(6000));
  const QueryMemory no_limit;
  QueryMemory::Claim unlimited(no_limit);
  CHECK_NOTHROW(unlimited.raise_to(std::uint64_t{1} << 60));
}
