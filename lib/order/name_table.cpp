#include "quern/order/name_table.hpp"

#include <algorithm>
#include <bit>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

constexpr std::size_t min_slots = 1024;

}  // namespace

NameTable::NameTable(std::size_t expected_names) {
  entries_.reserve(expected_names);
  rehash(std::max(min_slots, std::bit_ceil(2 * expected_names)));
}

Hash128 NameTable::hash_of(std::string_view name) { return xxh3_128(as_bytes(name)); }

std::size_t NameTable::slot_of(const Hash128& hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash.low & mask;
  while (slots_[at] != 0 && entries_[slots_[at] - 1].hash != hash) at = (at + 1) & mask;
  return at;
}

docid_t NameTable::add(std::string_view name, docid_t number) {
  const Hash128 hash = hash_of(name);
  std::size_t slot = slot_of(hash);
  if (slots_[slot] != 0) return entries_[slots_[slot] - 1].number;
  if (2 * (entries_.size() + 1) > slots_.size()) {
    rehash(2 * slots_.size());
    slot = slot_of(hash);
  }
  entries_.push_back({hash, number});
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return number;
}

docid_t NameTable::find(const Hash128& hash) const {
  const std::uint32_t entry = slots_[slot_of(hash)];
  return entry == 0 ? end_docid : entries_[entry - 1].number;
}

void NameTable::rehash(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    slots_[slot_of(entries_[i].hash)] = static_cast<std::uint32_t>(i + 1);
}

}  // namespace quern
