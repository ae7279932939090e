#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::gpu {

/// Words that are copied to a place behind those of the part before.
struct WordPart {
  std::span<const std::uint32_t> from;
  std::uint64_t to = 0;  ///< counted from the first part's place
};

/// How much of what begins at an address is moved at a time: whole words, after which a line begins, which is what a
/// link brings at a time, if words begin at the address. Rows of 2 bytes may begin between two words of the host's.
constexpr std::size_t bytes_of_run(std::uintptr_t from) {
  constexpr std::size_t run_bytes = 16384, line_bytes = 128;
  return run_bytes - from % line_bytes / sizeof(std::uint32_t) * sizeof(std::uint32_t);
}

/// Writes `words` words of the parts, some of which may be empty, from number `from` of their words on, to `to`. In
/// many threads.
void gather_words(std::span<const WordPart> parts, std::uint64_t from, std::uint64_t words, std::uint32_t* to);

}  // namespace quern::gpu
