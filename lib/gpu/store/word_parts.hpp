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

/// Bytes from an address on, a part of what is moved from there.
struct WordRun {
  std::size_t first = 0, bytes = 0;
};

/// What begins at an address is moved in runs: whole words, after which a line begins, which is what a link brings at a
/// time, if words begin at the address. Rows of 2 bytes may begin between two words of the host's.
class WordRuns {
 public:
  constexpr WordRuns(std::uintptr_t from, std::size_t bytes)
      : bytes_(bytes), first_(run_bytes - from % line_bytes / sizeof(std::uint32_t) * sizeof(std::uint32_t)) {}

  constexpr std::size_t size() const {
    if (bytes_ <= first_) return bytes_ > 0;
    return 1 + (bytes_ - first_ + run_bytes - 1) / run_bytes;
  }
  constexpr WordRun operator[](std::size_t run) const {
    const std::size_t begin = run == 0 ? 0 : first_ + (run - 1) * run_bytes, end = first_ + run * run_bytes;
    return {begin, (end < bytes_ ? end : bytes_) - begin};
  }

 private:
  static constexpr std::size_t run_bytes = 4096, line_bytes = 128;

  std::size_t bytes_, first_;
};

/// Writes `words` words of the parts, some of which may be empty, from number `from` of their words on, to `to`. In
/// many threads.
void gather_words(std::span<const WordPart> parts, std::uint64_t from, std::uint64_t words, std::uint32_t* to);

}  // namespace quern::gpu
