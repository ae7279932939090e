#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "quern/search/query_stream.hpp"

#include "catch.hpp"

/// Batches by number and by time, with a clock that the tests set.
namespace quern {
namespace {

using namespace std::chrono_literals;
using Collector = BatchCollector<int>;
using Batch = std::vector<int>;

struct SetClock {
  Collector::Clock::time_point time{};
  Collector::Now now() {
    return [this] { return time; };
  }
};

}  // namespace

TEST_CASE("a batch is due when it is full, however briefly it waited", "[batch_collector]") {
  SetClock clock;
  Collector collector(3, 1h, clock.now());
  CHECK(collector.try_take().empty());
  collector.push(1);
  collector.push(2);
  CHECK(collector.try_take().empty());
  collector.push(3);
  collector.push(4);
  CHECK(collector.try_take() == Batch{1, 2, 3});
  CHECK(collector.try_take().empty());
}

TEST_CASE("a batch is due when its first item has waited long enough, and not before", "[batch_collector]") {
  SetClock clock;
  Collector collector(3, 10ms, clock.now());
  collector.push(1);
  clock.time += 9ms;
  collector.push(2);
  CHECK(collector.try_take().empty());
  clock.time += 1ms;
  CHECK(collector.try_take() == Batch{1, 2});
  // The next item's time starts when it arrives.
  collector.push(3);
  clock.time += 9ms;
  CHECK(collector.try_take().empty());
  clock.time += 1ms;
  CHECK(collector.try_take() == Batch{3});
}

TEST_CASE("items after a full batch have waited since they arrived", "[batch_collector]") {
  SetClock clock;
  Collector collector(2, 10ms, clock.now());
  collector.push(1);
  collector.push(2);
  clock.time += 4ms;
  collector.push(3);
  CHECK(collector.try_take() == Batch{1, 2});
  clock.time += 9ms;
  CHECK(collector.try_take().empty());
  clock.time += 1ms;
  CHECK(collector.try_take() == Batch{3});
}

TEST_CASE("a batch is due when its items' bytes fill it, and exceeds the limit only for a single item",
          "[batch_collector]") {
  SetClock clock;
  Collector collector(100, 1h, clock.now(), 10);
  collector.push(1, 4);
  collector.push(2, 5);
  CHECK(collector.try_take().empty());
  collector.push(3, 4);
  CHECK(collector.try_take() == Batch{1, 2});
  CHECK(collector.try_take().empty());
  collector.push(4, 30);
  CHECK(collector.try_take() == Batch{3});
  CHECK(collector.try_take() == Batch{4});
  collector.push(5, 10);
  CHECK(collector.try_take() == Batch{5});
  CHECK(collector.try_take().empty());
}

TEST_CASE("no item is added while the waiting ones fill a batch", "[batch_collector]") {
  constexpr int count = 2000;
  Collector collector(1000, 1h, Collector::Clock::now, 100);
  std::atomic<int> pushed = 0, taken = 0;
  std::thread pushing([&] {
    for (int i = 0; i < count; ++i) {
      collector.push(i, 10);
      ++pushed;
    }
    collector.finish();
  });
  int most = 0;
  for (Batch batch = collector.take(); !batch.empty(); batch = collector.take()) {
    CHECK(batch.size() <= 10);
    const int before = taken;
    taken += static_cast<int>(batch.size());
    most = std::max(most, pushed - before);
  }
  pushing.join();
  CHECK(taken == count);
  // The batch in progress and one more.
  CHECK(most <= 20 + 1);
}

TEST_CASE("when no more items arrive, the remaining ones are due at once", "[batch_collector]") {
  SetClock clock;
  Collector collector(3, 1h, clock.now());
  collector.push(1);
  collector.finish();
  CHECK(collector.take() == Batch{1});
  CHECK(collector.take().empty());
}

TEST_CASE("a closed collector refuses items, and wakes threads that wait to add one", "[batch_collector]") {
  Collector collector(1, 1h);
  CHECK(collector.push(1));
  CHECK(collector.push(2));
  bool taken = true;
  std::thread pushing([&] { taken = collector.push(3); });
  collector.close();
  pushing.join();
  CHECK_FALSE(taken);
}

TEST_CASE("items keep their order and none is lost between threads", "[batch_collector]") {
  constexpr int count = 20000;
  for (const auto wait :
       {Collector::Clock::duration(0), Collector::Clock::duration(50us), Collector::Clock::duration(1h)}) {
    Collector collector(7, wait);
    std::thread pushing([&] {
      for (int i = 0; i < count; ++i) collector.push(i);
      collector.finish();
    });
    Batch all;
    for (Batch batch = collector.take(); !batch.empty(); batch = collector.take()) {
      CHECK(batch.size() <= 7);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    pushing.join();
    Batch expected(count);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(all == expected);
  }
}

}  // namespace quern
