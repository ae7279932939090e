#include <algorithm>
#include <set>
#include <thread>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"

#include "catch.hpp"

/// Batches for one GPU and for several.
namespace quern {
namespace {

std::vector<GpuQuery> queries_of(std::size_t count) {
  std::vector<GpuQuery> queries(count);
  for (std::size_t i = 0; i < count; ++i) queries[i].postings = i * 7919 % 1000 * 1000;
  return queries;
}

std::vector<GpuQuery*> pointers_to(std::vector<GpuQuery>& queries) {
  std::vector<GpuQuery*> pointers;
  for (GpuQuery& query : queries) pointers.push_back(&query);
  return pointers;
}

/// Takes a batch and returns none of its queries.
std::vector<GpuQuery*> take(QueryQueue& queue) {
  auto batch = queue.take();
  if (!batch.empty()) queue.settle({});
  return batch;
}

std::uint64_t cost_of(const std::vector<GpuQuery*>& batch) {
  std::uint64_t cost = 0;
  for (const GpuQuery* query : batch) cost += query->postings;
  return cost;
}

}  // namespace

TEST_CASE("one GPU gets batches of equal size, the most expensive queries first", "[query_queue]") {
  auto queries = queries_of(1000);
  QueryQueue queue(pointers_to(queries), 400, 1, 0);
  std::set<GpuQuery*> seen;
  std::uint64_t last = ~std::uint64_t{0};
  for (const std::size_t size : {334, 334, 332}) {
    const auto batch = take(queue);
    CHECK(batch.size() == size);
    for (GpuQuery* query : batch) {
      CHECK(query->postings <= last);
      last = query->postings;
      seen.insert(query);
    }
  }
  CHECK(seen.size() == 1000);
  CHECK(queue.empty());
  CHECK(take(queue).empty());
}

TEST_CASE("where batches cost little, a small step with few queries comes first", "[query_queue]") {
  using Sizes = std::vector<std::size_t>;
  const std::size_t first = gpu::first_step_queries;
  CHECK(step_sizes(0) == Sizes{0});
  CHECK(step_sizes(2 * first - 1) == Sizes{2 * first - 1});
  CHECK(step_sizes(2 * first) == Sizes{first, first});
  CHECK(step_sizes(20000) == Sizes{first, 20000 - first});
}

TEST_CASE("several GPUs get batches of similar cost", "[query_queue]") {
  auto queries = queries_of(1000);
  QueryQueue queue(pointers_to(queries), 16384, 2, 0);
  const std::uint64_t share = cost_of(pointers_to(queries)) / 4;
  std::size_t taken = 0, batches = 0;
  for (auto batch = take(queue); !batch.empty(); batch = take(queue)) {
    taken += batch.size();
    ++batches;
    if (!queue.empty()) {
      CHECK(cost_of(batch) >= share);
      CHECK(cost_of(batch) <= share + 1000000);
    }
  }
  CHECK(taken == 1000);
  CHECK(batches == 4);
}

TEST_CASE("batches for several GPUs respect their maximum size, and few queries give few batches", "[query_queue]") {
  auto queries = queries_of(1000);
  QueryQueue small(pointers_to(queries), 10, 2, 1000000);
  for (auto batch = take(small); !batch.empty(); batch = take(small)) CHECK(batch.size() <= 10);
  QueryQueue single({queries.data()}, 16384, 8, 0);
  CHECK(take(single).size() == 1);
  CHECK(take(single).empty());
  QueryQueue none({}, 16384, 8, 0);
  CHECK(take(none).empty());
}

TEST_CASE("batches for several GPUs are divided only if they have enough queries", "[query_queue]") {
  auto queries = queries_of(1000);
  const auto batches_of = [&](std::size_t count, std::size_t gpus, std::size_t min_queries) {
    std::vector<GpuQuery*> some = pointers_to(queries);
    some.resize(count);
    for (GpuQuery* query : some) query->postings = 1;
    QueryQueue queue(std::move(some), 16384, gpus, 0, min_queries);
    std::size_t batches = 0;
    while (!take(queue).empty()) ++batches;
    return batches;
  };
  CHECK(batches_of(256, 2, 256) == 1);
  CHECK(batches_of(257, 2, 256) == 2);
  CHECK(batches_of(1000, 2, 256) == 4);
  CHECK(batches_of(1000, 8, 256) == 4);
  CHECK(batches_of(256, 2, 1) == 4);
  CHECK(batches_of(1000, 8, 1) == 16);
}

TEST_CASE("returned queries are taken again, and a stopped queue is empty", "[query_queue]") {
  auto queries = queries_of(100);
  QueryQueue queue(pointers_to(queries), 10, 1, 0);
  const auto batch = queue.take();
  queue.settle(std::span(batch).subspan(4));
  const auto next = queue.take();
  CHECK(std::equal(batch.begin() + 4, batch.end(), next.begin()));
  queue.settle({});
  queue.stop();
  CHECK(queue.empty());
  CHECK(take(queue).empty());
}

TEST_CASE("a thread that finds no query waits until others have returned theirs", "[query_queue]") {
  auto queries = queries_of(10);
  QueryQueue queue(pointers_to(queries), 10, 1, 0);
  const auto all = queue.take();
  std::vector<GpuQuery*> later;
  std::thread thread([&] { later = queue.take(); });
  queue.settle(std::span(all).subspan(7));
  thread.join();
  CHECK(later.size() == 3);
  std::vector<GpuQuery*> none = all;
  std::thread waiting([&] { none = queue.take(); });
  queue.settle({});
  waiting.join();
  CHECK(none.empty());
}

TEST_CASE("each query is taken once, by any thread", "[query_queue]") {
  auto queries = queries_of(5000);
  QueryQueue queue(pointers_to(queries), 16, 4, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (auto batch = take(queue); !batch.empty(); batch = take(queue))
        for (GpuQuery* query : batch) ++query->number;
    });
  for (std::thread& thread : threads) thread.join();
  for (const GpuQuery& query : queries) CHECK(query.number == 1);
}

}  // namespace quern
