#include <set>
#include <thread>

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
