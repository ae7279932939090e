#include "quern/gpu/store/entry_cache.hpp"

#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/in_parallel.hpp"

namespace quern::gpu {
namespace {

EntryPlace place_at(std::uint64_t first, const ListView& view) {
  EntryPlace place;
  place.first_entry = first;
  place.first_start = first + entry_words(view.df);
  place.end = view.df;
  return place;
}

}  // namespace

bool EntryCache::acquire(unsigned flight, const BatchLists& lists, EntryPlaces& places) {
  Flight& own = flights_.at(flight);
  free_windows();
  if (!try_acquire(own, lists, places)) {
    if (has_batches()) return false;
    // Lists that the batch needs may fragment the free space.
    clear();
    if (!try_acquire(own, lists, places)) return false;
  }
  counts_.lists += lists.views.size();
  for (const EntryPlace& place : places.lists) counts_.kept_lists += place.blocks == 0;
  return true;
}

bool EntryCache::try_acquire(Flight& flight, const BatchLists& lists, EntryPlaces& places) {
  flight.batch = ++batches_;
  places.lists.assign(lists.views.size(), {});
  places.blocks = 0;
  Unused unused;
  use_what_is_there(flight, lists, places);
  if (!place_missing(flight, lists, places, unused) || !place_own(flight, lists, places, unused)) {
    release(flight, false);
    return false;
  }
  for (EntryPlace& place : places.lists) {
    place.first_block = places.blocks;
    places.blocks += place.blocks;
  }
  return true;
}

/// Marks lists as used, so that they are not evicted. In parallel, since each lookup is a cache miss.
void EntryCache::use_what_is_there(const Flight& flight, const BatchLists& lists, EntryPlaces& places) {
  in_parallel(lists.coded.size(), [&](std::size_t i) {
    const auto& [number, list] = lists.coded[i];
    const auto found = entries_.find(list->number);
    if (found == entries_.end() || found->second.postings != lists.views[number].df) return;
    found->second.last_use = flight.batch;
    places.lists[number] = place_at(found->second.first, lists.views[number]);
  });
}

/// Places the lists that stay. A list of which the cache has other postings gets a place for this batch alone.
bool EntryCache::place_missing(Flight& flight, const BatchLists& lists, EntryPlaces& places, Unused& unused) {
  for (const auto& [number, list] : lists.coded) {
    const ListView& view = lists.views[number];
    if (places.lists[number].end > 0) continue;
    if (entries_.contains(list->number)) continue;
    Entry entry;
    entry.postings = view.df;
    entry.words = words_of(view.df);
    entry.last_use = flight.batch;
    if (!take(entry.words, entry.first, unused)) return false;
    entries_[list->number] = entry;
    flight.decoded.push_back(list->number);
    places.lists[number] = place_at(entry.first, view);
    places.lists[number].blocks = view.rows;
  }
  return true;
}

/// Places the other lists, which do not stay, next to each other.
bool EntryCache::place_own(Flight& flight, const BatchLists& lists, EntryPlaces& places, Unused& unused) {
  std::uint64_t words = 0;
  for (std::size_t i = 0; i < places.lists.size(); ++i)
    if (places.lists[i].end == 0) words += words_of(lists.views[i].df);
  if (words == 0) return true;
  if (!take(words, flight.first, unused)) return false;
  flight.words = words;
  std::uint64_t next = flight.first;
  for (std::size_t i = 0; i < places.lists.size(); ++i) {
    if (places.lists[i].end > 0) continue;
    const ListView& view = lists.views[i];
    places.lists[i] = place_at(std::exchange(next, next + words_of(view.df)), view);
    places.lists[i].blocks = view.raw ? 1 : view.rows;
  }
  return true;
}

bool EntryCache::take_room(unsigned flight, std::uint64_t words, std::uint64_t& first) {
  words = (words + 3) / 4 * 4;
  if (words > words_) return false;
  entries_.clear();
  arena_ = Extents(words_);
  for (Flight& other : flights_) {
    other.words = 0;
    other.in_windows = false;
    other.decoded.clear();
  }
  Flight& own = flights_.at(flight);
  own.batch = ++batches_;
  own.words = words;
  own.in_windows = true;
  first = own.first = arena_.take(words).value();
  return true;
}

void EntryCache::free_windows() {
  for (Flight& flight : flights_)
    if (std::exchange(flight.in_windows, false)) arena_.give_back(flight.first, std::exchange(flight.words, 0));
}

bool EntryCache::others_decode(unsigned flight) const {
  const Flight& own = flights_.at(flight);
  return std::any_of(flights_.begin(), flights_.end(),
                     [&](const Flight& other) { return &other != &own && !other.decoded.empty(); });
}

void EntryCache::release(Flight& flight, bool ran) {
  if (flight.words > 0) arena_.give_back(flight.first, flight.words);
  if (!ran)
    for (const term_t term : flight.decoded) drop(term);
  flight = {};
}

void EntryCache::release(unsigned flight, bool ran) { release(flights_.at(flight), ran); }

void EntryCache::clear() {
  entries_.clear();
  arena_ = Extents(words_);
  for (Flight& flight : flights_) flight = {};
}

bool EntryCache::take(std::uint64_t words, std::uint64_t& first, Unused& unused) {
  auto place = arena_.take(words);
  if (!place && !unused.known) find_unused(unused);
  while (!place && unused.next < unused.lists.size()) {
    drop(unused.lists[unused.next++].second);
    if (arena_.largest() >= words) place = arena_.take(words);
  }
  if (place) first = *place;
  return place.has_value();
}

void EntryCache::find_unused(Unused& unused) const {
  std::uint64_t oldest = batches_ + 1;
  for (const Flight& flight : flights_)
    if (flight.batch > 0) oldest = std::min(oldest, flight.batch);
  for (const auto& [term, entry] : entries_)
    if (entry.last_use < oldest) unused.lists.emplace_back(entry.last_use, term);
  std::sort(unused.lists.begin(), unused.lists.end());
  unused.known = true;
}

void EntryCache::drop(term_t term) {
  const auto found = entries_.find(term);
  if (found == entries_.end()) return;
  arena_.give_back(found->second.first, found->second.words);
  entries_.erase(found);
}

}  // namespace quern::gpu
