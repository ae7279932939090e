#include <chrono>
#include <thread>
#include <vector>

#include "quern/gpu/worker/gpu_worker.hpp"

#include "catch.hpp"

/// How batches shrink when memory is short and grow again, tested without a GPU.
namespace quern {
namespace {

/// Starts batches in a memory with space for a number of queries, and records the requests.
struct FakeMemory {
  explicit FakeMemory(std::size_t queries) : room(queries) {}

  std::size_t room;
  gpu::BatchGrowth growth;
  std::vector<std::size_t> tried, taken_less;
  std::size_t cleaned = 0;

  std::size_t start(std::size_t waiting) {
    tried.clear(), taken_less.clear();
    cleaned = 0;
    return growth.start(
        waiting,
        [this](std::size_t queries) {
          // Earlier failures have been cleaned up.
          CHECK(cleaned == tried.size());
          tried.push_back(queries);
          if (queries > room) throw GpuOutOfMemory("too many");
          return queries;
        },
        [this] { ++cleaned; },
        [this](std::size_t queries) {
          taken_less.push_back(queries);
          growth.too_many(queries);
        });
  }
};

using BatchSizes = std::vector<std::size_t>;

}  // namespace

TEST_CASE("batches contain all waiting queries until memory is short", "[gpu_pipeline]") {
  FakeMemory memory(1000000);
  CHECK(memory.growth.max_queries() == gpu::max_batch_queries);
  CHECK(memory.start(50) == 50);
  CHECK(memory.tried == BatchSizes{50});
  CHECK(memory.cleaned == 0);
  CHECK(memory.growth.max_queries() == gpu::max_batch_queries);
}

TEST_CASE("memory is freed once before batches become smaller", "[gpu_pipeline]") {
  FakeMemory memory(30);
  CHECK(memory.start(100) == 25);
  CHECK(memory.tried == BatchSizes{100, 100, 50, 25});
  CHECK(memory.taken_less == BatchSizes{100, 50});
  CHECK(memory.cleaned == 3);
}

TEST_CASE("batches that are as large as allowed make the next ones twice as large", "[gpu_pipeline]") {
  FakeMemory memory(30);
  memory.start(100);
  CHECK(memory.growth.max_queries() == 50);  // 25 fit, so twice as many are tried
  memory.room = 1000;
  CHECK(memory.start(20) == 20);
  CHECK(memory.growth.max_queries() == 50);  // nothing is known about more
  CHECK(memory.start(1000) == 50);
  CHECK(memory.start(1000) == 100);
  CHECK(memory.growth.max_queries() == 200);
}

TEST_CASE("batches are halved down to one query, which is given up if it does not fit", "[gpu_pipeline]") {
  FakeMemory memory(1);
  CHECK(memory.start(7) == 1);
  CHECK(memory.tried == BatchSizes{7, 7, 3, 1});
  memory.room = 0;
  CHECK(memory.start(7) == 0);
  CHECK(memory.tried == BatchSizes{2, 2, 1});
  CHECK(memory.taken_less == BatchSizes{2});
  CHECK(memory.cleaned == 3);
  // Even a single query is tried again after memory was freed.
  CHECK(memory.start(1) == 0);
  CHECK(memory.tried == BatchSizes{1, 1});
  CHECK(memory.taken_less.empty());
  CHECK(memory.cleaned == 2);
}

TEST_CASE("a batch without windows allows the next one twice the queries that fitted", "[gpu_pipeline]") {
  gpu::BatchGrowth growth;
  std::size_t tried = 0;
  // Few of the waiting queries fit, so the others must wait again.
  const auto start = [&](std::size_t fit) {
    return growth.start(
        10000,
        [&](std::size_t queries) {
          tried = queries;
          growth.fitted(fit);
          return fit;
        },
        [] {}, [](std::size_t) {});
  };
  CHECK(start(10) == 10);
  CHECK(tried == 10000);
  CHECK(start(3) == 3);
  CHECK(tried == 20);
  CHECK(start(6) == 6);
  CHECK(tried == 6);
  CHECK(growth.max_queries() == 12);
  growth.fitted(0);
  CHECK(growth.max_queries() == 2);
}

TEST_CASE("a batch may shrink in other ways than by fewer queries", "[gpu_pipeline]") {
  gpu::BatchGrowth growth;
  std::vector<std::size_t> tried;
  double share = 1;
  const std::size_t count = growth.start(
      8,
      [&](std::size_t queries) {
        tried.push_back(queries);
        if (share > 0.25) throw GpuOutOfMemory("windows are too large");
        return queries;
      },
      [] {}, [&](std::size_t) { share /= 2; });
  CHECK(count == 8);
  CHECK(tried == BatchSizes{8, 8, 8, 8});
  CHECK(growth.max_queries() == gpu::max_batch_queries);
}

TEST_CASE("errors other than a lack of memory abort the start of a batch", "[gpu_pipeline]") {
  gpu::BatchGrowth growth;
  std::size_t cleaned = 0;
  const auto fail = [](std::size_t) -> std::size_t { throw CudaError("the GPU is lost"); };
  CHECK_THROWS_WITH(growth.start(
                        5, fail, [&] { ++cleaned; }, [](std::size_t) {}),
                    "the GPU is lost");
  CHECK(cleaned == 0);
}

TEST_CASE("the memory of other batches is freed only if there is too little, and once", "[gpu_pipeline]") {
  unsigned attempts = 0, freed = 0, needed = 1;
  const auto take = [&] { return ++attempts >= needed; };
  const auto free_others = [&] { ++freed; };
  gpu::acquire_or_evict(take, free_others, "no memory is left");
  CHECK(freed == 0);
  attempts = 0, needed = 2;
  gpu::acquire_or_evict(take, free_others, "no memory is left");
  CHECK(freed == 1);
  attempts = 0, needed = 3;
  CHECK_THROWS_AS(gpu::acquire_or_evict(take, free_others, "no memory is left"), GpuOutOfMemory);
  CHECK(attempts == 2);
  CHECK(freed == 2);
}

TEST_CASE("a thread that copies windows reports whether memory ran out", "[gpu_pipeline]") {
  gpu::WindowCopies copies;
  CHECK(copies.finish());  // there are no copies
  copies.start([] { throw GpuOutOfMemory("a window is too large"); });
  copies.wait();  // ignores the outcome
  CHECK_FALSE(copies.finish());
  copies.start([] {});
  CHECK(copies.finish());
}

TEST_CASE("other errors of a thread that copies windows are rethrown by finish", "[gpu_pipeline]") {
  gpu::WindowCopies copies;
  copies.start([] { throw CudaError("the GPU is lost"); });
  CHECK_NOTHROW(copies.wait());
  CHECK_THROWS_WITH(copies.finish(), "the GPU is lost");
}

TEST_CASE("copies of abandoned windows are waited for, and their errors dropped", "[gpu_pipeline]") {
  using namespace std::chrono_literals;
  gpu::WindowCopies copies;
  bool ended = false;
  copies.start([&ended] {
    std::this_thread::sleep_for(5ms);
    ended = true;
    throw CudaError("the GPU is lost");
  });
  copies.forget();
  CHECK(ended);
  CHECK(copies.finish());
  copies.start([] { throw GpuOutOfMemory("a window is too large"); });
  copies.wait();
  copies.forget();
  CHECK(copies.finish());
}

TEST_CASE("waiting for copies leaves their outcome to finish()", "[gpu_pipeline]") {
  std::vector<gpu::WindowCopies> flights(2);
  bool ended = false;
  flights[0].start([] { throw GpuOutOfMemory("a window is too large"); });
  flights[1].start([&ended] { ended = true; });
  for (const gpu::WindowCopies& copies : flights) copies.wait();
  CHECK(ended);
  CHECK_FALSE(flights[0].finish());
  CHECK(flights[1].finish());
}

}  // namespace quern
