#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// A name's first eight bytes as a number, the first byte lowest. Distinct for names of up to eight nonzero bytes.
constexpr std::uint64_t packed_name(std::string_view name) {
  std::uint64_t bytes = 0;
  for (std::size_t i = name.size() < 8 ? name.size() : 8; i-- > 0;)
    bytes = bytes << 8 | static_cast<unsigned char>(name[i]);
  return bytes;
}

/// A hash table of markup names by packed_name(), with linear probing. Each row has a member `name`; at most half of
/// the slots may be filled.
template <std::size_t bits>
class PackedNameTable {
 public:
  template <class Row, std::size_t n>
  constexpr explicit PackedNameTable(const Row (&rows)[n]) {
    static_assert(n * 2 <= num_slots && n < none);
    for (std::size_t row = 0; row < n; ++row) {
      const std::uint64_t key = packed_name(rows[row].name);
      std::size_t slot = slot_of(key);
      while (keys_[slot] != 0) slot = next(slot);
      keys_[slot] = key;
      rows_[slot] = static_cast<std::uint16_t>(row);
    }
  }

  static constexpr std::size_t none = 0xffff;
  /// The index of the row with this packed name; `none` if there is none.
  constexpr std::size_t find(std::uint64_t key) const {
    for (std::size_t slot = slot_of(key); keys_[slot] != 0; slot = next(slot))
      if (keys_[slot] == key) return rows_[slot];
    return none;
  }

 private:
  static constexpr std::size_t num_slots = std::size_t{1} << bits;
  static constexpr std::size_t slot_of(std::uint64_t key) {
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> (64 - bits));
  }
  static constexpr std::size_t next(std::size_t slot) { return (slot + 1) % num_slots; }

  std::array<std::uint64_t, num_slots> keys_{};
  std::array<std::uint16_t, num_slots> rows_{};
};

}  // namespace quern
