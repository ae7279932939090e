#include "quern/gpu/store/list_cache.hpp"

namespace quern::gpu {

ListView coded_view(const IndexReader& index, const PostingList& list) {
  ListView view;
  view.df = static_cast<std::uint32_t>(list.df);
  view.first_word = list.first_word;
  view.first_row = list.first_row;
  view.first_impact_word = list.first_impact_word;
  view.words = view.front_words = view.tail_begin = static_cast<std::uint32_t>(list.words.size());
  view.rows = static_cast<std::uint32_t>(list.block_last.size());
  view.header_words = static_cast<std::uint16_t>(index.codec().header_words(index.manifest().codec_options));
  view.impact_width = static_cast<std::uint8_t>(list.impact_width);
  return view;
}

void ListCache::add_copies(const PostingList& list, const StoredWords& stored, std::uint64_t first_coded,
                           std::uint64_t first_impact, ListCopies& copies) const {
  if (stored.coded > 0) copies.words.push_back({list.words.subspan(first_coded, stored.coded), stored.first});
  if (stored.impacts > 0)
    copies.words.push_back({list.impacts.subspan(first_impact, stored.impacts), stored.first + stored.coded});
}

bool ListCache::keep_front(const PostingList& list, std::uint64_t blocks, ListCopies& copies) {
  StoredWords front = {front_of(list, blocks, options_.block_size, options_.with_impacts), 0};
  const std::uint64_t rows = rows_of(list);
  const ListArenas room = options_.for_fronts();
  if (kept_words_ + front.size() > room.words || kept_rows_ + rows > room.rows) return false;
  // Fronts are contiguous, so nothing fragments the arena yet.
  front.first = words_.take(front.size()).value();
  std::uint64_t first_row = 0;
  if (rows > 0) {
    first_row = rows_.take(rows).value();
    copies.rows.push_back({&list, first_row});
  }
  Entry& entry = entries_[list.number];
  entry.front = front;
  entry.front_blocks = std::min<std::uint64_t>(blocks, list.block_last.size());
  entry.first_row = first_row;
  entry.rows = rows;
  kept_words_ += front.size();
  kept_rows_ += rows;
  add_copies(list, front, 0, 0, copies);
  return true;
}

bool ListCache::evict_one() {
  Entry* const entry = order_.take_first();
  if (entry == nullptr) return false;
  ++counts_.evicted_lists;
  drop_rest(*entry);
  return true;
}

/// Frees all but the front: the rest and, without a front, the rows.
void ListCache::drop_rest(Entry& entry) {
  entry.complete = false;
  if (entry.rest.size() > 0) words_.give_back(entry.rest.first, entry.rest.size());
  entry.rest = {};
  if (entry.front.size() > 0) return;
  if (entry.rows > 0) rows_.give_back(entry.first_row, entry.rows);
  entry.rows = 0;
}

bool ListCache::take(Extents& arena, std::uint64_t count, std::uint64_t uses, std::uint64_t& first) {
  if (count == 0) return true;
  for (;;) {
    if (const auto place = arena.take(count)) {
      first = *place;
      return true;
    }
    if (!order_.has_less_used(uses) || !evict_one()) return false;
  }
}

bool ListCache::complete(Entry& entry, const PostingList& list, std::uint64_t uses, ListCopies& copies) {
  StoredWords rest = rest_of(list, entry.front);
  if (!take(words_, rest.size(), uses, rest.first)) return false;
  if (entry.front.size() == 0) {
    const std::uint64_t rows = rows_of(list);
    if (!take(rows_, rows, uses, entry.first_row)) {
      if (rest.size() > 0) words_.give_back(rest.first, rest.size());
      return false;
    }
    entry.rows = rows;
    if (rows > 0) copies.rows.push_back({&list, entry.first_row});
  }
  entry.rest = rest;
  entry.complete = true;
  add_copies(list, rest, entry.front.coded, entry.front.impacts, copies);
  return true;
}

void ListCache::stop_using(Entry& entry) {
  if (!EvictionOrder<Entry>::stop_using(entry)) return;
  const bool has_rest = entry.rest.size() > 0;
  if (!entry.complete || (has_rest && options_.retention == ListRetention::none)) return drop_rest(entry);
  if (!has_rest) return;  // its front is the whole list
  order_.add(entry);
}

void ListCache::set_view(const Entry& entry, ListView& view) {
  const StoredWords& front = entry.front.size() > 0 ? entry.front : entry.rest;
  view.first_word = front.first;
  view.first_impact_word = front.first + front.coded;
  view.front_words = view.tail_begin = static_cast<std::uint32_t>(front.coded);
  if (entry.front.size() > 0 && entry.rest.size() > 0) {
    view.front_blocks = static_cast<std::uint32_t>(entry.front_blocks);
    view.tail_word = entry.rest.first;
    view.tail_impact_word = entry.rest.first + entry.rest.coded;
  }
  if (entry.rows > 0) view.first_row = entry.first_row;
}

/// Halves all counts now and then, so that old uses count less.
void ListCache::forget_old_uses() {
  constexpr std::uint64_t average_uses = 64;
  if (uses_ < average_uses * entries_.size()) return;
  uses_ = 0;
  for (auto at = entries_.begin(); at != entries_.end();) {
    Entry& entry = at->second;
    entry.uses /= 2;
    if (entry.unused) {
      order_.use(entry);
      order_.stop_using(entry);
      order_.add(entry);
    }
    const bool is_known = entry.uses > 0 || entry.users > 0 || entry.complete || entry.front.size() > 0;
    at = is_known ? std::next(at) : entries_.erase(at);
  }
}

bool ListCache::acquire(unsigned flight, std::span<const WantedList> lists, ListCopies& copies) {
  if (acquired_.size() <= flight) acquired_.resize(flight + 1);
  if (try_acquire(flight, lists, copies)) return true;
  if (in_use()) return false;
  // Lists that the batch needs may fragment the free space.
  while (evict_one()) continue;
  return try_acquire(flight, lists, copies);
}

bool ListCache::try_acquire(unsigned flight, std::span<const WantedList> lists, ListCopies& copies) {
  std::vector<Entry*>& acquired = acquired_[flight];
  const std::size_t first = acquired.size(), words_before = copies.words.size(), rows_before = copies.rows.size();
  ListCacheCounts counted;
  std::vector<Entry*> completed;
  // Mark resident lists as used before any list is evicted.
  for (const WantedList& wanted : lists) {
    Entry& entry = entries_[wanted.list->number];
    order_.use(entry);
    acquired.push_back(&entry);
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const PostingList& list = *lists[i].list;
    Entry& entry = *acquired[first + i];
    ++counted.lists;
    counted.bytes += bytes_of(list);
    if (entry.complete) {
      ++counted.resident_lists;
    } else if (complete(entry, list, any_uses, copies)) {
      completed.push_back(&entry);
      counted.copied_bytes += bytes_of(list) - 4 * entry.front.size();
    } else {
      // Their words will not be copied.
      for (Entry* without_words : completed) without_words->complete = false;
      copies.words.resize(words_before);
      copies.rows.resize(rows_before);
      release_from(acquired, first);
      return false;
    }
    set_view(entry, *lists[i].view);
  }
  for (std::size_t i = 0; i < lists.size(); ++i) count_use(*acquired[first + i], lists[i]);
  forget_old_uses();
  counts_ += counted;
  return true;
}

void ListCache::hold(unsigned flight, std::span<const WantedList> lists, ListCopies& copies) {
  if (acquired_.size() <= flight) acquired_.resize(flight + 1);
  uncopied_flight_ = flight;
  std::vector<std::pair<Entry*, const PostingList*>> missing;
  for (const WantedList& wanted : lists) {
    Entry& entry = entries_[wanted.list->number];
    count_use(entry, wanted);
    if (entry.complete) {
      order_.use(entry);
      acquired_[flight].push_back(&entry);
    } else if (options_.retention != ListRetention::none && may_fit(entry)) {
      missing.emplace_back(&entry, wanted.list);
    }
  }
  std::stable_sort(missing.begin(), missing.end(),
                   [](const auto& a, const auto& b) { return a.first->uses > b.first->uses; });
  for (const auto& [entry, list] : missing) {
    if (!complete(*entry, *list, entry->uses, copies)) continue;
    order_.use(*entry);
    acquired_[flight].push_back(entry);
    uncopied_.push_back(entry);
    counts_.copied_bytes += bytes_of(*list) - 4 * entry->front.size();
  }
  forget_old_uses();
}

void ListCache::release(unsigned flight) {
  if (flight >= acquired_.size()) return;
  if (flight == uncopied_flight_)
    for (Entry* entry : std::exchange(uncopied_, {})) entry->complete = false;
  release_from(acquired_[flight], 0);
}

KeptFront ListCache::kept_front(const PostingList& list) const {
  const auto found = entries_.find(list.number);
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  const bool is_whole = entry.front.size() == 0 && entry.complete;
  if (entry.front.size() == 0 && !is_whole) return {};
  const StoredWords& stored = is_whole ? entry.rest : entry.front;
  return {is_whole ? list.block_last.size() : entry.front_blocks, stored.first, stored.coded,
          stored.first + stored.coded};
}

std::optional<PostingList> ListCache::front_only(const PostingList& list) const {
  const Entry* entry = entry_with_front(list.number);
  // A front with all words of the list is complete, even if the list's numbers contradict each other.
  if (!entry || entry->complete || entry->front.coded >= list.words.size()) return std::nullopt;
  return list_of_front(list, entry->front_blocks, options_.block_size, options_.with_impacts);
}

void ListCache::use_front(const PostingList& front, ListView& view) {
  set_view(entries_.at(front.number), view);
  ++counts_.lists;
  counts_.bytes += bytes_of(front);
}

PlanRoom plan_room(const QueryEngine& engine, const GpuMemoryOptions& memory) {
  const IndexSizes sizes = sizes_of(engine.index(), &engine);
  const std::uint64_t limit = memory.limit(engine.index()).value_or(std::numeric_limits<std::uint64_t>::max());
  const MemoryDivision division = divide_memory(limit, sizes, memory, engine.index().name());
  if (division.whole_index || division.all_lists) return {sizes.lists, std::nullopt, true};
  const ListArenas room = arenas_of(division).for_fronts();
  PlanRoom plan;
  plan.bytes = room.words * sizeof(std::uint32_t);
  if (!division.resident_rows) plan.rows = room.rows;
  return plan;
}

}  // namespace quern::gpu
