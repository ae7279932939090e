#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quern/core/types.hpp"

namespace quern {

/// XXH3-64, seed 0: the checksum of all Quern files.
std::uint64_t xxh3(ByteView bytes);

/// The same of bytes that come in pieces.
class StreamHash {
 public:
  StreamHash();
  ~StreamHash();
  StreamHash(const StreamHash&) = delete;
  StreamHash& operator=(const StreamHash&) = delete;

  void add(ByteView bytes);
  /// xxh3() of all bytes so far.
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3-128, seed 0, as its low and high half: names things that must not collide.
struct Hash128 {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Hash128&) const = default;
  bool operator<(const Hash128& other) const { return low != other.low ? low < other.low : high < other.high; }
};
Hash128 xxh3_128(ByteView bytes);

/// Sixteen lower-case hexadecimal digits.
std::string hash_text(std::uint64_t hash);
/// The hash that hash_text() wrote; nothing if `text` is none.
std::optional<std::uint64_t> hash_of_text(std::string_view text);

}  // namespace quern
