#pragma once
#include <unordered_map>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/store/extents.hpp"

/// Places of decoded lists in a GPU's memory. Host code, which decodes nothing.
namespace quern::gpu {

/// Gives the lists of a batch places in an arena of 32-bit words. Entries depend on index and scorer, not on queries,
/// so lists stay for later batches as long as there is room. The least recently used are evicted first, but none that a
/// batch in flight uses. Raw lists get a place for one batch only, and so do lists of which the cache holds other
/// postings: a batch may read only the front of a list.
class EntryCache {
 public:
  /// `words`: size of the arena. `ranges`: number of document ranges of the index.
  EntryCache(std::uint64_t words, std::uint32_t ranges) : words_(words / 4 * 4), ranges_(ranges), arena_(words_) {}

  /// Sets the places of all lists of a batch, whose kernels run after those of earlier batches. False, without effect,
  /// if other flights' batches leave too little room. The flight must have released its last batch.
  bool acquire(unsigned flight, const BatchLists& lists, EntryPlaces& places);
  /// Takes `words` contiguous words for a batch that runs in windows, and sets `first` to the place of the first.
  /// False, without effect, if the arena is smaller. Drops all lists, also those that other flights use: the batch's
  /// kernels run after theirs. Later batches may reuse the words before the flight is released.
  bool take_room(unsigned flight, std::uint64_t words, std::uint64_t& first);
  /// Whether a batch of another flight decodes lists that later batches use.
  bool others_decode(unsigned flight) const;
  /// Ends the flight's use of its lists. If its batch did not run, drops the lists that it should have decoded.
  void release(unsigned flight, bool ran = true);
  /// Forgets all lists. No flight may have a batch.
  void clear();

  std::uint64_t words() const { return words_; }
  /// Words that a batch may plan for: half of the arena, or all of it if it has room for every list of the index.
  std::uint64_t words_per_batch() const { return has_all_lists_ ? words_ : words_ / 2; }
  bool has_all_lists() const { return has_all_lists_; }
  void set_has_all_lists() { has_all_lists_ = true; }
  /// Words of a list of `postings` postings.
  std::uint64_t words_of(std::uint64_t postings) const { return entry_words(postings) + start_words(ranges_); }
  EntryCounts take_counts() { return std::exchange(counts_, {}); }

 private:
  struct Entry {
    std::uint64_t first = 0, words = 0;  ///< in the arena
    std::uint64_t postings = 0;          ///< of the list, or of its front
    std::uint64_t last_use = 0;          ///< number of the batch
  };
  struct Flight {
    std::uint64_t batch = 0;             ///< its number; 0: none
    std::uint64_t first = 0, words = 0;  ///< its own words, for windows or lists that do not stay
    bool in_windows = false;
    std::vector<term_t> decoded;  ///< lists that it decodes and that stay
  };

  /// The lists that no flight uses, in the order of eviction. Found when first needed.
  struct Unused {
    bool known = false;
    std::vector<std::pair<std::uint64_t, term_t>> lists;  ///< last use, and which
    std::size_t next = 0;                                 ///< the next to evict
  };

  bool try_acquire(Flight& flight, const BatchLists& lists, EntryPlaces& places);
  void use_what_is_there(const Flight& flight, const BatchLists& lists, EntryPlaces& places);
  bool place_missing(Flight& flight, const BatchLists& lists, EntryPlaces& places, Unused& unused);
  bool place_own(Flight& flight, const BatchLists& lists, EntryPlaces& places, Unused& unused);
  /// Takes `words` words, and evicts lists for them if necessary.
  bool take(std::uint64_t words, std::uint64_t& first, Unused& unused);
  void find_unused(Unused& unused) const;
  void drop(term_t term);
  /// Gives back the words of windows, whose kernels run before those of a batch to come.
  void free_windows();
  void release(Flight& flight, bool ran);
  bool has_batches() const {
    return std::any_of(flights_.begin(), flights_.end(), [](const Flight& flight) { return flight.batch > 0; });
  }

  std::uint64_t words_;
  std::uint32_t ranges_;
  bool has_all_lists_ = false;
  Extents arena_;
  std::unordered_map<term_t, Entry> entries_;
  std::array<Flight, batches_in_flight> flights_;
  std::uint64_t batches_ = 0;  ///< so far
  EntryCounts counts_;
};

}  // namespace quern::gpu
