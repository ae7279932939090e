#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "quern/gpu/device/memory_division.hpp"

namespace quern::gpu {

/// Which parts of an arena are free. Counts elements; knows nothing of memory.
class Extents {
 public:
  explicit Extents(std::uint64_t size) { add_free(0, size); }

  /// Takes `count` elements that follow each other, at least one, from the smallest free part that has them; returns
  /// the first one's place. Nothing if no part does.
  std::optional<std::uint64_t> take(std::uint64_t count);
  /// Gives back what was taken.
  void give_back(std::uint64_t first, std::uint64_t count);
  std::uint64_t free() const { return free_; }
  /// Elements of the largest free part.
  std::uint64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void add_free(std::uint64_t first, std::uint64_t count);
  void remove_free(std::uint64_t first, std::uint64_t count);

  std::map<std::uint64_t, std::uint64_t> by_place_;            ///< place and size of each free part
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  ///< size and place of each
  std::uint64_t free_ = 0;
};

/// How batches use what a GPU's memory holds: a base of what an EvictionOrder orders.
struct Evictable {
  /// Smaller ones go first. The second number tells equal ones apart.
  using Priority = std::pair<std::uint64_t, std::uint64_t>;

  std::uint64_t users = 0;         ///< batches in flight
  std::uint64_t uses = 0;          ///< by batches, since it came
  std::optional<Priority> unused;  ///< its place in the order, if it may be evicted
};

/// In which order lists that no batch uses make room for others: see ListRetention. Knows nothing of memory. Entries
/// must stay where they are as long as they may be evicted.
template <class Entry>
class EvictionOrder {
 public:
  explicit EvictionOrder(ListRetention retention) : retention_(retention) {}

  /// A batch uses the entry from now on: it is not evicted.
  void use(Entry& entry) {
    if (entry.users++ == 0) remove(entry);
    ++entry.uses;
  }
  /// Ends a batch's use. Returns whether no other batch uses the entry.
  static bool stop_using(Entry& entry) { return --entry.users == 0; }
  /// The entry, which no batch uses, may be evicted from now on.
  void add(Entry& entry) {
    entry.unused = priority_of(entry);
    unused_.emplace(*entry.unused, &entry);
  }
  /// Removes the entry that is to be evicted first, and returns it; null if none may be.
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
    // LFU with dynamic aging (Arlitt et al., Evaluating Content Management Techniques for Web Proxy Caches, 2000): a
    // list is worth its uses more than the one that was evicted last.
    return {last_evicted_ + entry.uses, clock_};
  }

  ListRetention retention_;
  std::map<Evictable::Priority, Entry*> unused_;  ///< the first go first
  std::uint64_t last_evicted_ = 0;                ///< the first number of its priority
  std::uint64_t clock_ = 0;                       ///< counts what became unused
};

/// Words that are copied to a place behind those of the part before.
struct WordPart {
  std::span<const std::uint32_t> from;
  std::uint64_t to = 0;  ///< counted from the first part's place
};

/// Bytes from an address on, a part of what is moved from there.
struct WordRun {
  std::size_t first = 0, bytes = 0;
};

/// What begins at an address is moved in runs: whole words, after which a line begins, which is what a link brings at a
/// time, if words begin at the address. Rows of 2 bytes may begin between two words of the host's.
class WordRuns {
 public:
  constexpr WordRuns(std::uintptr_t from, std::size_t bytes)
      : bytes_(bytes), first_(run_bytes - from % line_bytes / sizeof(std::uint32_t) * sizeof(std::uint32_t)) {}

  constexpr std::size_t size() const {
    if (bytes_ <= first_) return bytes_ > 0;
    return 1 + (bytes_ - first_ + run_bytes - 1) / run_bytes;
  }
  constexpr WordRun operator[](std::size_t run) const {
    const std::size_t begin = run == 0 ? 0 : first_ + (run - 1) * run_bytes, end = first_ + run * run_bytes;
    return {begin, (end < bytes_ ? end : bytes_) - begin};
  }

 private:
  static constexpr std::size_t run_bytes = 4096, line_bytes = 128;

  std::size_t bytes_, first_;
};

/// Writes `words` words of the parts, some of which may be empty, from number `from` of their words on, to `to`. In
/// many threads.
void gather_words(std::span<const WordPart> parts, std::uint64_t from, std::uint64_t words, std::uint32_t* to);

}  // namespace quern::gpu
