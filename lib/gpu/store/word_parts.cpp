#include "quern/gpu/store/word_parts.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

namespace quern::gpu {

void gather_words(std::span<const WordPart> parts, std::uint64_t from, std::uint64_t words, std::uint32_t* to) {
  constexpr std::uint64_t words_at_once = 16 << 10;
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, words, words_at_once), [&](const auto& range) {
    std::uint64_t at = from + range.begin();
    const std::uint64_t end = from + range.end();
    const auto after = [](std::uint64_t word, const WordPart& part) { return word < part.to; };
    for (auto part = std::upper_bound(parts.begin(), parts.end(), at, after) - 1; at < end; ++part) {
      const std::uint64_t skipped = at - part->to, count = std::min(end - at, part->from.size() - skipped);
      std::copy_n(part->from.data() + skipped, count, to + (at - from));
      at += count;
    }
  });
}

}  // namespace quern::gpu
