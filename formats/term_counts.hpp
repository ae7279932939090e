#pragma once
#include <cstdint>
#include <string_view>

#include "quern/core/bytes.hpp"

namespace quern {

/// How often a term occurs, in title and body: the payload of lexicons and statistics, two varints.
struct TermCounts {
  std::uint64_t df = 0;  ///< documents that have it
  std::uint64_t cf = 0;  ///< occurrences in them, or the sum of its weights

  bool operator==(const TermCounts&) const = default;
  TermCounts& operator+=(const TermCounts& other) {
    df += other.df;
    cf += other.cf;
    return *this;
  }
  void put(Bytes& payload) const {
    put_varint(payload, df);
    put_varint(payload, cf);
  }
  /// Throws CorruptFile, with `what`.
  static TermCounts of(ByteView payload, std::string_view what) {
    ByteReader reader(payload, what);
    TermCounts counts;
    counts.df = reader.varint();
    counts.cf = reader.varint();
    if (!reader.done()) reader.fail("a term has bytes after its counts");
    return counts;
  }
};

}  // namespace quern
