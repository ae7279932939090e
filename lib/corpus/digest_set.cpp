#include "quern/corpus/digest_set.hpp"

#include <algorithm>
#include <utility>

namespace quern {

DigestSet::DigestSet(std::uint64_t max_bytes) : left_bytes_(max_bytes) {}

/// The place that holds it, or a free one. There must be one.
DigestSet::Place* DigestSet::find(std::vector<Place>& places, const Place& sought) {
  std::size_t at = std::uint64_t{sought.words[0]} * places.size() >> 32;
  while (places[at].words[2] != 0 && !(places[at] == sought)) at = at + 1 == places.size() ? 0 : at + 1;
  return &places[at];
}

bool DigestSet::grow(Table& table) {
  constexpr std::size_t min_places = 16;
  const std::size_t size = std::max(min_places, table.places.size() + table.places.size() / 4);
  if (size * sizeof(Place) > left_bytes_) return false;
  std::vector<Place> places(size);
  for (const Place& place : table.places)
    if (place.words[2] != 0) *find(places, place) = place;
  left_bytes_ -= (size - table.places.size()) * sizeof(Place);
  table.places = std::move(places);
  return true;
}

DigestSet::Added DigestSet::add(const Hash128& digest) {
  Table& table = tables_[digest.high % tables_.size()];
  const Place place{{static_cast<std::uint32_t>(digest.low), static_cast<std::uint32_t>(digest.low >> 32),
                     static_cast<std::uint32_t>(digest.high >> 32) | 1}};
  if (!table.places.empty() && *find(table.places, place) == place) return Added::was_there;
  if ((table.used + 1) * 8 > table.places.size() * 7 && !grow(table)) return Added::no_room;
  *find(table.places, place) = place;
  ++table.used;
  ++count_;
  return Added::yes;
}

}  // namespace quern
