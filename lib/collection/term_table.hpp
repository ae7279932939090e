#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "quern/core/types.hpp"

namespace quern {

/// XXH3-64 of a term, inlined for speed.
inline std::uint64_t inline_hash(std::string_view term) { return XXH3_64bits(term.data(), term.size()); }

/// A hash table from terms to numbers 0, 1, 2 … in the order in which they first occur. Open addressing over one array;
/// a single buffer holds the bytes of all terms.
class TermTable {
 public:
  TermTable() { rehash(1024); }

  /// The term's number; a new one if the term is new.
  std::uint32_t add(std::string_view term) { return add(term, inline_hash(term)); }
  /// The same with the hash known: that of inline_hash().
  std::uint32_t add(std::string_view term, std::uint64_t hash) {
    const std::uint64_t tag = hash & tag_mask;
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const std::uint64_t slot = slots_[at];
      if (slot == 0) return insert(at, term, hash);
      if ((slot & tag_mask) == tag) {
        const std::uint32_t number = static_cast<std::uint32_t>(slot) - 1;
        if (this->term(number) == term) return number;
      }
    }
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  std::string_view term(std::uint32_t number) const {
    const Entry& entry = entries_[number];
    return {bytes_.data() + (entry.place >> 8), static_cast<std::size_t>(entry.place & 0xff)};
  }
  std::uint64_t hash(std::uint32_t number) const { return entries_[number].hash; }
  /// Of all terms together.
  std::size_t term_bytes() const { return bytes_.size(); }
  std::uint64_t memory_bytes() const {
    return bytes_.capacity() + entries_.capacity() * sizeof(Entry) + slots_.capacity() * 8;
  }

  void clear() {
    bytes_.clear();
    entries_.clear();
    std::fill(slots_.begin(), slots_.end(), 0);
  }

 private:
  struct Entry {
    std::uint64_t hash;
    std::uint64_t place;  ///< offset in bytes_ << 8 | length: terms have at most 255 bytes
  };
  /// A slot holds the upper half of the hash and, below, the number + 1; 0 is empty.
  static constexpr std::uint64_t tag_mask = 0xffffffff00000000u;

  std::uint32_t insert(std::size_t at, std::string_view term, std::uint64_t hash) {
    entries_.push_back({hash, bytes_.size() << 8 | term.size()});
    bytes_.insert(bytes_.end(), term.begin(), term.end());
    slots_[at] = (hash & tag_mask) | entries_.size();
    const std::uint32_t number = size() - 1;
    if (entries_.size() * 2 > slots_.size()) rehash(slots_.size() * 2);
    return number;
  }

  void rehash(std::size_t size) {
    slots_.assign(size, 0);
    mask_ = size - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t at = entries_[i].hash & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = (entries_[i].hash & tag_mask) | (i + 1);
    }
  }

  std::vector<char> bytes_;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> slots_;
  std::size_t mask_ = 0;
};

}  // namespace quern
