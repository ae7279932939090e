#pragma once
#include <map>
#include <set>

#include "quern/gpu/device/memory_division.hpp"

namespace quern::gpu {

/// The free extents of an arena, in elements. Host code, which allocates nothing.
class Extents {
 public:
  explicit Extents(std::uint64_t size) { add_free(0, size); }

  /// Takes `count` contiguous elements, at least one, from the smallest free extent that holds them, and returns the
  /// first one's place. Empty if no extent is large enough.
  std::optional<std::uint64_t> take(std::uint64_t count);
  /// Returns elements to the arena.
  void give_back(std::uint64_t first, std::uint64_t count);
  /// Elements of the largest free extent.
  std::uint64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void add_free(std::uint64_t first, std::uint64_t count);
  void remove_free(std::uint64_t first, std::uint64_t count);

  std::map<std::uint64_t, std::uint64_t> by_place_;            ///< place and size of each free extent
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  ///< size and place of each
};

/// Base of the entries of an EvictionOrder: how batches use an entry.
struct Evictable {
  /// The smallest is evicted first. The second number breaks ties.
  using Priority = std::pair<std::uint64_t, std::uint64_t>;

  std::uint64_t users = 0;         ///< batches in flight
  std::uint64_t uses = 0;          ///< by queries or batches, so far
  std::optional<Priority> unused;  ///< its place in the order, if it may be evicted
};

/// The order in which unused lists are evicted: see ListRetention. An entry that may be evicted must not move.
template <class Entry>
class EvictionOrder {
 public:
  /// `keeps_counts`: whether entries keep their number of uses when they are evicted.
  explicit EvictionOrder(ListRetention retention, bool keeps_counts = false)
      : retention_(retention), keeps_counts_(keeps_counts) {}

  /// Begins a batch's use of the entry, which is then not evicted.
  void use(Entry& entry) {
    if (entry.users++ == 0) remove(entry);
  }
  /// Ends a batch's use. Returns whether no other batch uses the entry.
  static bool stop_using(Entry& entry) { return --entry.users == 0; }
  /// Lets the entry, which no batch uses, be evicted.
  void add(Entry& entry) {
    entry.unused = priority_of(entry);
    unused_.emplace(*entry.unused, &entry);
  }
  /// Whether take_first() would return an entry to make room for another one with `uses` uses.
  bool has_less_used(std::uint64_t uses) const {
    return !unused_.empty() && (retention_ == ListRetention::lru || unused_.begin()->first.first < uses);
  }
  /// Removes the entry to evict first, and returns it; null if none may be evicted.
  Entry* take_first() {
    if (unused_.empty()) return nullptr;
    Entry& entry = *unused_.begin()->second;
    last_evicted_ = entry.unused->first;
    remove(entry);
    return &entry;
  }

 private:
  void remove(Entry& entry) {
    if (!entry.unused) return;
    unused_.erase(*entry.unused);
    entry.unused.reset();
  }
  Evictable::Priority priority_of(const Entry& entry) {
    ++clock_;
    if (retention_ == ListRetention::lru) return {clock_, clock_};
    // Where counts restart, LFU with dynamic aging (Arlitt et al., Evaluating Content Management Techniques for Web
    // Proxy Caches, 2000): the priority is the last evicted list's plus the number of uses.
    return {(keeps_counts_ ? 0 : last_evicted_) + entry.uses, clock_};
  }

  ListRetention retention_;
  bool keeps_counts_;
  std::map<Evictable::Priority, Entry*> unused_;  ///< the first go first
  std::uint64_t last_evicted_ = 0;                ///< the first number of its priority
  std::uint64_t clock_ = 0;                       ///< counts what became unused
};

/// Words to be copied, and their place: a number of words after the destination's first.
struct WordCopy {
  std::span<const std::uint32_t> from;
  std::uint64_t to = 0;
};

/// Bytes that lanes move together, counted from an address.
struct MoveItem {
  std::size_t first = 0, bytes = 0;
};

/// Cuts bytes into items that end where a memory line begins, since a link transfers whole lines. If the address isn't
/// aligned to words, as rows of 2 bytes may not be, items end within a word of the lines.
class MoveItems {
 public:
  constexpr MoveItems(std::uintptr_t from, std::size_t bytes)
      : bytes_(bytes), first_(item_bytes - from % line_bytes / sizeof(std::uint32_t) * sizeof(std::uint32_t)) {}

  constexpr std::size_t size() const {
    if (bytes_ <= first_) return bytes_ > 0;
    return 1 + (bytes_ - first_ + item_bytes - 1) / item_bytes;
  }
  constexpr MoveItem operator[](std::size_t item) const {
    const std::size_t begin = item == 0 ? 0 : first_ + (item - 1) * item_bytes, end = first_ + item * item_bytes;
    return {begin, (end < bytes_ ? end : bytes_) - begin};
  }

 private:
  static constexpr std::size_t item_bytes = 4096, line_bytes = 128;

  std::size_t bytes_, first_;
};

/// Writes words [from, from + words) of the copies' destination, which they fill without gaps, to `to`, in parallel.
void gather_words(std::span<const WordCopy> copies, std::uint64_t from, std::uint64_t words, std::uint32_t* to);

}  // namespace quern::gpu
