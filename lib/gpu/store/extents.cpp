#include "quern/gpu/store/extents.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <iterator>

namespace quern::gpu {

void Extents::add_free(std::uint64_t first, std::uint64_t count) {
  if (count == 0) return;
  by_place_.emplace(first, count);
  by_size_.emplace(count, first);
}

void Extents::remove_free(std::uint64_t first, std::uint64_t count) {
  by_place_.erase(first);
  by_size_.erase({count, first});
}

std::optional<std::uint64_t> Extents::take(std::uint64_t count) {
  const auto found = by_size_.lower_bound({count, 0});
  if (found == by_size_.end()) return std::nullopt;
  const auto [size, first] = *found;
  remove_free(first, size);
  add_free(first + count, size - count);
  return first;
}

void Extents::give_back(std::uint64_t first, std::uint64_t count) {
  auto next = by_place_.lower_bound(first);
  if (next != by_place_.begin()) {
    const auto [place, size] = *std::prev(next);
    if (place + size == first) {
      remove_free(place, size);
      first = place;
      count += size;
    }
  }
  if (next != by_place_.end() && first + count == next->first) {
    const auto [place, size] = *next;
    remove_free(place, size);
    count += size;
  }
  add_free(first, count);
}

void gather_words(std::span<const WordCopy> copies, std::uint64_t from, std::uint64_t words, std::uint32_t* to) {
  constexpr std::uint64_t words_at_once = 16 << 10;
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, words, words_at_once), [&](const auto& range) {
    std::uint64_t at = from + range.begin();
    const std::uint64_t end = from + range.end();
    const auto after = [](std::uint64_t word, const WordCopy& copy) { return word < copy.to; };
    for (auto copy = std::upper_bound(copies.begin(), copies.end(), at, after) - 1; at < end; ++copy) {
      const std::uint64_t skipped = at - copy->to, count = std::min(end - at, copy->from.size() - skipped);
      std::copy_n(copy->from.data() + skipped, count, to + (at - from));
      at += count;
    }
  });
}

}  // namespace quern::gpu
