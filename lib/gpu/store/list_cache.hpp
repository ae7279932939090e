#pragma once
#include <unordered_map>

#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/store/extents.hpp"

/// Places of posting lists in the memory of a GPU that can't hold the index. Host code; it copies nothing.
namespace quern::gpu {

/// The view of a coded list in the index's own sections, without its place in a batch.
ListView coded_view(const IndexReader& index, const PostingList& list);

/// Contiguous words of the arena.
struct ArenaRoom {
  std::uint64_t first = 0, words = 0;
};

/// The first blocks of a list, in one piece in the arena: the places of their coded words and impacts.
struct KeptFront {
  std::uint64_t blocks = 0;
  std::uint64_t first_word = 0, words = 0, first_impact_word = 0;
};

/// A coded list that a batch reads, and the batch's view of it, in which its place is set.
struct WantedList {
  const PostingList* list = nullptr;
  ListView* view = nullptr;
  std::uint64_t blocks = std::numeric_limits<std::uint64_t>::max();  ///< maximum that the batch's queries read
  std::uint32_t queries = 1;                                         ///< of the batch, that read it
};

/// A list whose block rows must be copied, and their place in the arena of rows.
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

/// Caches whole lists, and the fronts that a plan keeps (Wang et al. 2017, section 3.3). A list that a batch needs
/// becomes complete, and stays while a batch uses it. Unused lists are evicted by ListRetention to make room; the
/// plan's fronts never are. Queries count a list's uses, in memory or not: the lists that stay become those that most
/// queries use, which are the best for any memory, since what a list costs and saves is proportional to its bytes. For
/// lists with block rows; others are sent with their batch.
class ListCache {
 public:
  explicit ListCache(const ListCacheOptions& options)
      : options_(options), words_(options.words), rows_(options.rows), order_(options.retention, true) {}

  /// Keeps the first `blocks` blocks of a list. False, without effect, if fronts would then exceed
  /// ListArenas::for_fronts(). Call it before any list is acquired.
  bool keep_front(const PostingList& list, std::uint64_t blocks, ListCopies& copies);
  /// Makes lists complete for a batch and sets the places in their views. Appends the copies to make before the batch
  /// runs; no other batch uses their destinations. Each list occurs once. False, without effect, if the lists do not
  /// fit beside those that other batches use.
  bool acquire(unsigned flight, std::span<const WantedList> lists, ListCopies& copies);
  /// Whether the whole list is in memory.
  bool has(const PostingList& list) const {
    const auto found = entries_.find(list.number);
    return found != entries_.end() && found->second.complete;
  }
  /// The list cut to its front, for a batch that reads only that. Empty without a front, or if the rest is in memory.
  std::optional<PostingList> front_only(const PostingList& list) const;
  /// Sets the places in the view of a list from front_only(). It needs no release, since fronts stay.
  void use_front(const PostingList& front, ListView& view);
  /// Ends the flight's use of the lists that it acquired or holds.
  void release(unsigned flight);

  /// Keeps lists for a batch that runs in windows: those that are complete, and others that fit or have more uses than
  /// unused ones that are evicted for them. Their copies must be made, and copied() called, before the flight is
  /// released; else they are dropped. Sets no views. Each list occurs once.
  void hold(unsigned flight, std::span<const WantedList> lists, ListCopies& copies);
  void copied() { uncopied_.clear(); }
  /// The place of windows of documents.
  ArenaRoom windows() const { return {options_.words, options_.window_words}; }
  /// The list's front, or the whole list if it is complete in one piece. Without blocks if there is neither.
  KeptFront kept_front(const PostingList& list) const;
  void count(const ListCacheCounts& more) { counts_ += more; }

  bool keeps_impacts() const { return options_.with_impacts; }
  /// Words for lists if no batch uses any.
  std::uint64_t free_words() const { return options_.words - kept_words_; }
  std::uint64_t bytes_of(const PostingList& list) const {
    return 4 * words_of(list) + (options_.rows > 0 ? block_row_bytes * list.block_last.size() : 0);
  }
  /// The words and rows of a list, and without those that its front already holds.
  std::uint64_t words_of(const PostingList& list) const {
    return list.words.size() + (options_.with_impacts ? list.impacts.size() : 0);
  }
  std::uint64_t rows_of(const PostingList& list) const { return options_.rows > 0 ? rows_kept(list) : 0; }
  /// Words of a list to copy: none if it is complete.
  std::uint64_t missing_words(const PostingList& list) const { return has(list) ? 0 : words_behind_front(list); }
  std::uint64_t words_behind_front(const PostingList& list) const {
    const Entry* entry = entry_with_front(list.number);
    return words_of(list) - (entry ? entry->front.size() : 0);
  }
  std::uint64_t rows_behind_front(const PostingList& list) const {
    return entry_with_front(list.number) ? 0 : rows_of(list);
  }
  std::uint64_t free_rows() const { return options_.rows - kept_rows_; }

  ListCacheCounts take_counts() { return std::exchange(counts_, {}); }

 private:
  /// Coded words of a list in the arena, then their impacts.
  struct StoredWords : ListWords {
    std::uint64_t first = 0;
  };
  struct Entry : Evictable {
    StoredWords front;               ///< never evicted; empty: none
    std::uint64_t front_blocks = 0;  ///< of the front
    StoredWords rest;                ///< the words after the front, or the whole list
    std::uint64_t first_row = 0, rows = 0;
    bool complete = false;  ///< with its rest and rows
  };

  /// The list's entry if it has a front, else null.
  const Entry* entry_with_front(term_t term) const {
    const auto found = entries_.find(term);
    return found == entries_.end() || found->second.front.size() == 0 ? nullptr : &found->second;
  }
  StoredWords rest_of(const PostingList& list, const StoredWords& front) const {
    const std::uint64_t impacts = words_of(list) - list.words.size();
    return {{list.words.size() - front.coded, impacts - front.impacts}, 0};
  }
  bool in_use() const {
    return std::any_of(acquired_.begin(), acquired_.end(), [](const auto& acquired) { return !acquired.empty(); });
  }
  /// Which unused entries may be evicted: those with fewer uses.
  static constexpr std::uint64_t any_uses = std::numeric_limits<std::uint64_t>::max();

  /// Whether hold() may find room for the list, unless that is a few words.
  bool may_fit(const Entry& entry) const {
    constexpr std::uint64_t few_words = 4096;
    return words_.largest() > few_words || order_.has_less_used(entry.uses);
  }
  void count_use(Entry& entry, const WantedList& wanted) {
    entry.uses += wanted.queries;
    uses_ += wanted.queries;
  }
  void forget_old_uses();
  bool try_acquire(unsigned flight, std::span<const WantedList> lists, ListCopies& copies);
  void stop_using(Entry& entry);
  /// Evicts unused entries with fewer uses than `uses` if there is too little room.
  bool complete(Entry& entry, const PostingList& list, std::uint64_t uses, ListCopies& copies);
  void add_copies(const PostingList& list, const StoredWords& stored, std::uint64_t first_coded,
                  std::uint64_t first_impact, ListCopies& copies) const;
  bool take(Extents& arena, std::uint64_t count, std::uint64_t uses, std::uint64_t& first);
  bool evict_one();
  void drop_rest(Entry& entry);
  void release_from(std::vector<Entry*>& acquired, std::size_t first) {
    for (std::size_t i = first; i < acquired.size(); ++i) stop_using(*acquired[i]);
    acquired.resize(first);
  }
  static void set_view(const Entry& entry, ListView& view);

  ListCacheOptions options_;
  Extents words_, rows_;
  std::unordered_map<term_t, Entry> entries_;  ///< also lists of which only the uses are known
  std::uint64_t uses_ = 0;                     ///< counted since old ones were forgotten
  EvictionOrder<Entry> order_;                 ///< of complete entries
  std::vector<std::vector<Entry*>> acquired_;  ///< by flight
  std::vector<Entry*> uncopied_;               ///< completed by hold(), by the flight below
  unsigned uncopied_flight_ = 0;
  std::uint64_t kept_words_ = 0, kept_rows_ = 0;
  ListCacheCounts counts_;
};

/// The room for a plan's lists in a GPU's memory.
struct PlanRoom {
  std::uint64_t bytes = 0;            ///< for fronts of lists
  std::optional<std::uint64_t> rows;  ///< for the block rows of these lists; empty if the GPU holds all rows
  bool whole_index = false;           ///< all lists fit, so that queries need no plan
};

/// The room that the engine leaves to a plan for ranked queries beside tables, rows, staging and batches. If `memory`
/// limits only lists, assumes a GPU with room for all else. Throws GpuOutOfMemory if too little is left for one batch.
PlanRoom plan_room(const QueryEngine& engine, const GpuMemoryOptions& memory);

}  // namespace quern::gpu
