#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "quern/core/scratch_memory.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("a pool lends returned objects again, unchanged", "[spare_pool]") {
  int made = 0;
  SparePool<std::vector<int>> pool([&] {
    ++made;
    return std::make_unique<std::vector<int>>();
  });
  pool.borrow()->push_back(7);
  const auto first = pool.borrow();
  CHECK(*first == std::vector<int>{7});
  CHECK(pool.borrow()->empty());
  CHECK(made == 2);
}

TEST_CASE("no two threads hold the same object of a pool", "[spare_pool]") {
  std::atomic<int> made = 0, shared = 0;
  SparePool<std::atomic<int>> pool([&] {
    ++made;
    return std::make_unique<std::atomic<int>>(0);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto object = pool.borrow();
        if (++*object > 1) ++shared;
        --*object;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(shared == 0);
  CHECK(made <= 4);
}

TEST_CASE("a failed construction is an error, and the pool stays usable", "[spare_pool]") {
  bool fails = true;
  SparePool<int> pool([&] {
    if (fails) throw std::runtime_error("no ink");
    return std::make_unique<int>(1);
  });
  CHECK_THROWS_WITH(pool.borrow(), "no ink");
  fails = false;
  CHECK(*pool.borrow() == 1);
}

}  // namespace quern
