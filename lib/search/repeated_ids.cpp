#include "quern/search/repeated_ids.hpp"

#include <algorithm>
#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

bool RepeatedIds::is_repeated(std::string_view id) {
  if (slots_.empty()) slots_.resize(2 * max_ids);
  const std::uint64_t hash = std::max<std::uint64_t>(1, xxh3(as_bytes(id)));
  if (std::exchange(last_, hash) == hash) return true;
  std::size_t slot = hash % slots_.size();
  while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) % slots_.size();
  if (slots_[slot] == hash) return true;
  if (num_ids_ < max_ids) {
    slots_[slot] = hash;
    ++num_ids_;
  }
  return false;
}

}  // namespace quern
