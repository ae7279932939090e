#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// XXH3-64, seed 0: the checksum of all Quern files.
std::uint64_t xxh3(ByteView bytes);

/// xxh3() computed incrementally.
class StreamHash {
 public:
  StreamHash();
  ~StreamHash();
  StreamHash(const StreamHash&) = delete;
  StreamHash& operator=(const StreamHash&) = delete;

  void restart();
  void add(ByteView bytes);
  /// xxh3() of all bytes since the last restart.
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3-128, seed 0, as its low and high half: for identifiers that must not collide.
struct Hash128 {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Hash128&) const = default;
  bool operator<(const Hash128& other) const { return low != other.low ? low < other.low : high < other.high; }
};
Hash128 xxh3_128(ByteView bytes);

/// Sixteen lower-case hexadecimal digits.
std::string hash_text(std::uint64_t hash);
/// Parses hash_text()'s format; empty if `text` is not such a hash.
std::optional<std::uint64_t> hash_of_text(std::string_view text);

}  // namespace quern
