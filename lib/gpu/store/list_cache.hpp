#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/store/extents.hpp"

/// Which posting lists are in a GPU's memory if it is smaller than the index, and where. Host code, which copies
/// nothing.
namespace quern::gpu {

/// Words that follow each other in the arena.
struct ArenaPart {
  std::uint64_t first = 0, words = 0;
};

/// A front that a plan keeps: blocks, and where their coded words and impacts are.
struct KeptFront {
  std::uint64_t blocks = 0;
  std::uint64_t first_word = 0, words = 0, first_impact_word = 0;
};

/// A coded list that a batch reads, and its view in the batch, in which its place is to be set.
struct WantedList {
  const PostingList* list = nullptr;
  ListView* view = nullptr;
  std::uint64_t blocks = std::numeric_limits<std::uint64_t>::max();  ///< that the batch reads at most, all together
};

/// Words that must be copied to a place in the arena of words.
struct WordCopy {
  std::span<const std::uint32_t> from;
  std::uint64_t to = 0;
};

/// A list whose block rows must be copied to a place in the arena of rows.
struct RowCopy {
  const PostingList* list = nullptr;
  std::uint64_t to = 0;
};

struct ListCopies {
  std::vector<WordCopy> words;
  std::vector<RowCopy> rows;
};

struct ListCacheOptions : ListArenas {
  bool with_impacts = false;  ///< whether quantized impacts are kept with the words
  ListRetention retention = ListRetention::lfu;
  unsigned block_size = 0;  ///< of the index
};

/// Whole lists, and fronts of lists that a plan keeps (Wang et al. 2017, section 3.3). A list that a batch needs is
/// made complete, and stays while a batch uses it. If there is too little memory, lists that no batch uses go, as
/// ListRetention says; the plan's fronts never do. For lists with block rows; others come with their
/// batch.
class ListCache {
 public:
  explicit ListCache(const ListCacheOptions& options);

  /// Keeps the first `blocks` blocks of a list from now on. False, and nothing done, if fronts would then take more
  /// than ListArenas::for_fronts(). To be called before lists are acquired.
  bool keep_front(const PostingList& list, std::uint64_t blocks, ListCopies& copies);
  /// Makes lists complete for a batch and sets the places in their views. What has to be copied is appended to `copies`
  /// and must be there before the batch runs; its targets are used by no other batch. Each list occurs once. False, and
  /// nothing is acquired or to be copied, if the lists do not fit beside those that other batches use.
  bool acquire(unsigned flight, std::span<const WantedList> lists, ListCopies& copies);
  /// Whether all of the list is there.
  bool has(const PostingList& list) const;
  /// The list as its front, for a batch that reads no more of it: if a front is kept and what follows it is not there.
  std::optional<PostingList> front_only(const PostingList& list) const;
  /// Sets the places in the view of a list that front_only() returned. Fronts stay, so that it is not to be released.
  void use_front(const PostingList& front, ListView& view);
  /// Ends the use of what the flight's batch acquired.
  void release(unsigned flight);

  /// Drops all but the fronts, and takes the largest part of the arena that is free then, for windows of documents.
  /// Nothing if a batch uses lists. No lists can be acquired until give_back_room().
  std::optional<ArenaPart> take_room();
  void give_back_room(const ArenaPart& room) { words_.give_back(room.first, room.words); }
  /// The list's front; without blocks if none is kept.
  KeptFront kept_front(term_t term) const;
  /// Counts what windows of documents brought.
  void count(const ListCacheCounts& more) { counts_ += more; }

  bool keeps_impacts() const { return options_.with_impacts; }
  /// Words that fronts take for good.
  std::uint64_t kept_words() const { return kept_words_; }
  std::uint64_t kept_lists() const { return kept_lists_; }
  /// What batches can have, if no other batch uses anything.
  std::uint64_t free_words() const { return options_.words - kept_words_; }
  std::uint64_t bytes_of(const PostingList& list) const;
  /// What a list takes, and what acquiring it takes besides its front, of which nothing is there then.
  std::uint64_t words_of(const PostingList& list) const;
  std::uint64_t rows_of(const PostingList& list) const { return options_.rows > 0 ? rows_kept(list) : 0; }
  std::uint64_t words_behind_front(const PostingList& list) const;
  std::uint64_t rows_behind_front(const PostingList& list) const;
  std::uint64_t free_rows() const { return options_.rows - kept_rows_; }

  /// Returns what was counted since the last call.
  ListCacheCounts take_counts() { return std::exchange(counts_, {}); }

 private:
  /// A part of a list in the arena, from the word `first` on: coded words, then their impacts.
  struct Part : ListWords {
    std::uint64_t first = 0;
  };
  struct Entry : Evictable {
    term_t term = 0;
    Part front;                      ///< kept for good; empty: none
    std::uint64_t front_blocks = 0;  ///< of the front
    Part rest;                       ///< what follows the front, or the whole list
    std::uint64_t first_row = 0, rows = 0;
    bool complete = false;  ///< with its rest and rows
  };

  /// The list's entry if it has a front; else null.
  const Entry* entry_with_front(term_t term) const;
  Part rest_of(const PostingList& list, const Part& front) const;
  bool try_acquire(unsigned flight, std::span<const WantedList> lists, ListCopies& copies);
  void stop_using(Entry& entry);
  bool complete(Entry& entry, const PostingList& list, ListCopies& copies);
  void add_copies(const PostingList& list, const Part& part, std::uint64_t first_coded, std::uint64_t first_impact,
                  ListCopies& copies) const;
  bool take(Extents& arena, std::uint64_t count, std::uint64_t& first);
  bool evict_one();
  void drop_rest(Entry& entry);
  void release_from(std::vector<Entry*>& acquired, std::size_t first);
  static void set_view(const Entry& entry, ListView& view);

  ListCacheOptions options_;
  Extents words_, rows_;
  std::unordered_map<term_t, Entry> entries_;
  EvictionOrder<Entry> order_;                 ///< of complete entries
  std::vector<std::vector<Entry*>> acquired_;  ///< by flight
  std::uint64_t kept_words_ = 0, kept_rows_ = 0, kept_lists_ = 0;
  ListCacheCounts counts_;
};

// The room for a plan's lists in a GPU's memory, found on any machine. Host code.

struct PlanRoom {
  std::uint64_t bytes = 0;            ///< for fronts of lists
  std::optional<std::uint64_t> rows;  ///< for the block rows of these lists; none: the rows of all lists are there
  bool whole_index = false;           ///< all lists fit, so that queries need no plan
};

/// What of `memory` the engine leaves to a plan for ranked queries, once it has taken tables, rows, staging and the
/// memory of batches. A share of the lists is taken of a GPU that has room for all else. Throws GpuOutOfMemory if too
/// little is left for one batch.
PlanRoom plan_room(const QueryEngine& engine, const GpuMemoryOptions& memory);

}  // namespace quern::gpu
