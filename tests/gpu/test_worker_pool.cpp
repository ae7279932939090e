#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "quern/gpu/worker/worker_pool.hpp"

#include "catch.hpp"

/// Threads that use several simulated GPUs.
namespace quern {
namespace {

struct FakeGpu {
  FakeGpu(unsigned number, std::atomic<int>& live) : number_(number), live_(live) { ++live_; }
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;
  ~FakeGpu() { --live_; }
  unsigned gpu() const { return number_; }
  void work() {
    ++uses;
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // so that others need another GPU
    if (fails) throw CudaError("out of ink");
  }

  std::atomic<int> uses = 0;
  std::atomic<bool> fails = false;

 private:
  const unsigned number_;
  std::atomic<int>& live_;
};

gpu::WorkerPool<FakeGpu> pool_of(unsigned count, std::atomic<int>& live) {
  std::vector<std::unique_ptr<FakeGpu>> gpus;
  for (unsigned i = 0; i < count; ++i) gpus.push_back(std::make_unique<FakeGpu>(i, live));
  return gpu::WorkerPool<FakeGpu>(std::move(gpus));
}

}  // namespace

TEST_CASE("a thread uses the GPU with the fewest users among those that it may use", "[worker_pool]") {
  std::atomic<int> live = 0;
  auto pool = pool_of(3, live);
  std::vector<std::string> failed;
  std::vector<unsigned> used;
  pool.use(
      3,
      [&](FakeGpu& first) {
        used.push_back(first.gpu());
        pool.use(
            3,
            [&](FakeGpu& second) {
              used.push_back(second.gpu());
              pool.use(
                  2, [&](FakeGpu& third) { used.push_back(third.gpu()); }, failed);
              pool.use(
                  3, [&](FakeGpu& third) { used.push_back(third.gpu()); }, failed);
            },
            failed);
      },
      failed);
  CHECK(used == std::vector<unsigned>{0, 1, 0, 2});
  CHECK(failed.empty());
}

TEST_CASE("a GPU that fails is excluded, reported once, and freed when no thread uses it", "[worker_pool]") {
  std::atomic<int> live = 0;
  auto pool = pool_of(3, live);
  pool.for_each([](FakeGpu& gpu) { gpu.fails = gpu.gpu() != 1; });
  std::atomic<int> done = 0, reports = 0;  // Catch checks in one thread only
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::vector<std::string> failed;
      for (unsigned i = 0; i < 100; ++i) {
        pool.use(
            3, [](FakeGpu& gpu) { gpu.work(); }, failed);
        ++done;
      }
      for (const std::string& text : failed) reports += text.ends_with("is no longer used: out of ink");
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(done == 400);
  CHECK(reports == 2);
  CHECK(pool.size() == 1);
  CHECK(pool.front().gpu() == 1);
  CHECK(pool.front().uses == 400);
  CHECK(live == 1);
}

TEST_CASE("the last GPU's error is thrown, and later that no GPU is left", "[worker_pool]") {
  std::atomic<int> live = 0;
  auto pool = pool_of(2, live);
  pool.for_each([](FakeGpu& gpu) { gpu.fails = true; });
  std::vector<std::string> failed;
  CHECK_THROWS_WITH(pool.use(
                        2, [](FakeGpu& gpu) { gpu.work(); }, failed),
                    "out of ink");
  CHECK(failed == std::vector<std::string>{"GPU 0 is no longer used: out of ink"});
  CHECK_THROWS_WITH(pool.use(
                        2, [](FakeGpu& gpu) { gpu.work(); }, failed),
                    Catch::Contains("all GPUs have failed"));
  CHECK(live == 0);
}

TEST_CASE("other errors leave a GPU in use", "[worker_pool]") {
  std::atomic<int> live = 0;
  auto pool = pool_of(1, live);
  std::vector<std::string> failed;
  CHECK_THROWS_AS(pool.use(
                      1, [](FakeGpu&) { throw CorruptFile("torn"); }, failed),
                  CorruptFile);
  pool.use(
      1, [](FakeGpu& gpu) { gpu.work(); }, failed);
  CHECK(pool.front().uses == 1);
}

}  // namespace quern
