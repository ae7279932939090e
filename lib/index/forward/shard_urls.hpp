#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "quern/io/checksum.hpp"

namespace quern {

/// Which URLs a shard may have documents of: most others are told apart without sorting them (a Bloom filter with one
/// hash, Bloom 1970).
class ShardUrls {
 public:
  /// What it takes in memory.
  static std::uint64_t table_bytes(std::uint64_t documents) { return bits_of(documents) / 8; }
  explicit ShardUrls(std::uint64_t documents)
      : mask_(bits_of(documents) - 1), words_(bits_of(documents) / bits_of_word) {}

  void add(const Hash128& url) { words_[place(url)] |= bit(url); }
  /// False if the shard has no such URL; true for a few that it doesn't have.
  bool may_have(const Hash128& url) const { return (words_[place(url)] & bit(url)) != 0; }

 private:
  static constexpr std::uint64_t bits_of_word = 64;
  /// A power of two, 8 to 16 of a document.
  static std::uint64_t bits_of(std::uint64_t documents) {
    return std::bit_ceil(documents < bits_of_word ? bits_of_word : documents * 8);
  }
  std::uint64_t place(const Hash128& url) const { return (url.high & mask_) / bits_of_word; }
  static std::uint64_t bit(const Hash128& url) { return std::uint64_t{1} << url.high % bits_of_word; }

  std::uint64_t mask_;
  std::vector<std::uint64_t> words_;
};

}  // namespace quern
