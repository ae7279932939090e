#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "quern/gpu/worker/worker_pool.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("helpers run once when they are started, at most one per thread", "[helper_threads]") {
  for (const int threads : {1, 2, 3, 8}) {
    tbb::task_arena arena(threads);
    std::atomic<int> calls = 0;
    arena.execute([&] {
      gpu::HelperThreads helpers(4, [&] {
        if (tbb::this_task_arena::max_concurrency() == threads) ++calls;
      });
      CHECK(calls == 0);
      helpers.start();
      helpers.start();
      helpers.join();
    });
    CHECK(calls == std::min(4, std::max(threads - 1, 1)));
  }
}

TEST_CASE("helpers that were not started do nothing, and join does not wait for them", "[helper_threads]") {
  std::atomic<int> calls = 0;
  {
    gpu::HelperThreads helpers(4, [&] { ++calls; });
    helpers.join();
    gpu::HelperThreads none(0, [&] { ++calls; });
    none.start();
    none.join();
  }
  CHECK(calls == 0);
}

TEST_CASE("join rethrows a helper's error", "[helper_threads]") {
  gpu::HelperThreads helpers(2, [] { throw std::runtime_error("no paper"); });
  helpers.start();
  CHECK_THROWS_WITH(helpers.join(), "no paper");
  gpu::HelperThreads dropped(2, [] { throw std::runtime_error("no ink"); });
  dropped.start();
}

}  // namespace quern
