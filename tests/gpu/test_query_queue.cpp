#include <set>
#include <thread>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/engine/ranking_share.hpp"

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

std::uint64_t cost_of(const std::vector<GpuQuery*>& batch) {
  std::uint64_t cost = 0;
  for (const GpuQuery* query : batch) cost += query->postings;
  return cost;
}

}  // namespace

TEST_CASE("one GPU gets batches of equal size, the most expensive queries first", "[query_queue]") {
  auto queries = queries_of(1000);
  QueryQueue queue(pointers_to(queries), 400, 1, 0);
  CHECK(queue.batches() == 3);
  std::set<GpuQuery*> seen;
  std::uint64_t last = ~std::uint64_t{0};
  for (const std::size_t size : {334, 334, 332}) {
    const auto batch = queue.take();
    CHECK(batch.size() == size);
    for (GpuQuery* query : batch) {
      CHECK(query->postings <= last);
      last = query->postings;
      seen.insert(query);
    }
  }
  CHECK(seen.size() == 1000);
  CHECK(queue.empty());
  CHECK(queue.take().empty());
}

TEST_CASE("where batches cost little, the first ones are small and grow", "[query_queue]") {
  const auto sizes_of = [](std::size_t count, std::size_t max_queries) {
    auto queries = queries_of(count);
    QueryQueue queue(pointers_to(queries), max_queries, 1, 0, true);
    std::vector<std::size_t> sizes;
    for (auto batch = queue.take(); !batch.empty(); batch = queue.take()) sizes.push_back(batch.size());
    CHECK(queue.batches() == sizes.size());
    return sizes;
  };
  using Sizes = std::vector<std::size_t>;
  const std::size_t first = gpu::first_batch_queries, second = first * gpu::batch_growth;
  CHECK(sizes_of(2 * first - 1, 65535) == Sizes{2 * first - 1});
  CHECK(sizes_of(2 * first, 65535) == Sizes{first, first});
  CHECK(sizes_of(first + 2 * second, 65535) == Sizes{first, second, second});
  CHECK(sizes_of(first + 3 * second, 2 * second) == Sizes{first, second, 2 * second});
  CHECK(sizes_of(10 * first, first) == Sizes(10, first));
  CHECK(sizes_of(0, 1) == Sizes{});
}

TEST_CASE("several GPUs get batches of similar cost", "[query_queue]") {
  auto queries = queries_of(1000);
  QueryQueue queue(pointers_to(queries), 16384, 2, 0);
  REQUIRE(queue.batches() == 4);
  const std::uint64_t share = cost_of(pointers_to(queries)) / 4;
  std::size_t taken = 0;
  for (auto batch = queue.take(); !batch.empty(); batch = queue.take()) {
    taken += batch.size();
    if (!queue.empty()) {
      CHECK(cost_of(batch) >= share);
      CHECK(cost_of(batch) <= share + 1000000);
    }
  }
  CHECK(taken == 1000);
}

TEST_CASE("batches for several GPUs respect their maximum size, and few queries make few batches", "[query_queue]") {
  auto queries = queries_of(1000);
  QueryQueue small(pointers_to(queries), 10, 2, 1000000);
  for (auto batch = small.take(); !batch.empty(); batch = small.take()) CHECK(batch.size() <= 10);
  QueryQueue single({queries.data()}, 16384, 8, 0);
  CHECK(single.batches() == 1);
  CHECK(single.take().size() == 1);
  QueryQueue none({}, 16384, 8, 0);
  CHECK(none.batches() == 0);
  CHECK(none.take().empty());
}

TEST_CASE("items that are given back are taken again, and a stopped queue is empty", "[query_queue]") {
  auto queries = queries_of(100);
  QueryQueue queue(pointers_to(queries), 10, 1, 0);
  const auto batch = queue.take();
  queue.give_back(batch);
  CHECK(queue.take() == batch);
  queue.stop();
  CHECK(queue.empty());
  CHECK(queue.take().empty());
}

TEST_CASE("each query is taken once, by whichever thread", "[query_queue]") {
  auto queries = queries_of(5000);
  QueryQueue queue(pointers_to(queries), 16, 4, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (auto batch = queue.take(); !batch.empty(); batch = queue.take())
        for (GpuQuery* query : batch) ++query->number;
    });
  for (std::thread& thread : threads) thread.join();
  for (const GpuQuery& query : queries) CHECK(query.number == 1);
}

}  // namespace quern
