#include <mutex>

#include "quern/core/parallel_batch.hpp"

#include "catch.hpp"

namespace quern {
namespace {

struct Handed {
  std::vector<std::size_t> values;
  std::uint64_t max_bytes = 0;  ///< waiting at the same time
};

/// Answers of 1 to 7 bytes. Answers of at least 5 bytes are large: they check whether to defer themselves.
Handed answer_all(std::size_t count, unsigned threads, std::uint64_t held_bytes) {
  Handed handed;
  std::atomic<std::uint64_t> waiting = 0, most = 0;
  std::mutex large;
  const auto size_of = [](std::size_t i) { return i % 7 + 1; };
  const auto make = [&](std::size_t i, std::size_t& answer, HeldAnswer& held) {
    std::unique_lock alone(large, std::defer_lock);
    if (size_of(i) >= 5) {
      alone.lock();
      if (held.is_full()) return false;
    }
    answer = i + 1;
    const std::uint64_t now = waiting += size_of(i);
    for (std::uint64_t before = most; before < now && !most.compare_exchange_weak(before, now);) continue;
    held.add(size_of(i));
    return true;
  };
  answer_or_put_off_in_batches<std::size_t>(count, threads, held_bytes, make, [&](std::size_t i, std::size_t answer) {
    REQUIRE(answer == i + 1);
    waiting -= size_of(i);
    handed.values.push_back(i);
  });
  handed.max_bytes = most;
  return handed;
}

}  // namespace

TEST_CASE("answers are delivered in order for any number of threads and waiting bytes", "[core]") {
  for (const unsigned threads : {1u, 2u, 8u})
    for (const std::uint64_t held_bytes : {0u, 1u, 10u, 1000000u}) {
      INFO(threads << " threads, " << held_bytes << " bytes");
      const Handed handed = answer_all(5000, threads, held_bytes);
      REQUIRE(handed.values.size() == 5000);
      for (std::size_t i = 0; i < handed.values.size(); ++i) REQUIRE(handed.values[i] == i);
      // Beyond the limit: one large answer, and one small answer per thread.
      CHECK(handed.max_bytes <= held_bytes + 7 + 4 * threads);
    }
}

TEST_CASE("a delivered answer frees its memory", "[core]") {
  std::size_t max_left = 0;
  answer_in_batches<std::string>(
      2 * max_held_answers, 1, 1,
      [&](std::size_t, std::string& answer) {
        max_left = std::max(max_left, answer.capacity());
        answer.assign(1000, 'x');
      },
      [](const std::string& answer) { return answer.capacity(); }, [](std::size_t, const std::string&) {});
  CHECK(max_left < 1000);
}

}  // namespace quern
