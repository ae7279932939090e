#pragma once
#include <cstdint>
#include <span>

namespace quern::gpu {

/// Words that are copied to a place behind those of the part before.
struct WordPart {
  std::span<const std::uint32_t> from;
  std::uint64_t to = 0;  ///< counted from the first part's place
};

/// Writes `words` words of the parts, some of which may be empty, from number `from` of their words on, to `to`. In
/// many threads.
void gather_words(std::span<const WordPart> parts, std::uint64_t from, std::uint64_t words, std::uint32_t* to);

}  // namespace quern::gpu
