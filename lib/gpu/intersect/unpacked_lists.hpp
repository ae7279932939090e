#pragma once
#include <unordered_map>

#include "quern/gpu/intersect/intersect_method.hpp"
#include "quern/gpu/store/extents.hpp"
#include "quern/search/hash_segments.hpp"

/// Places and formats of unpacked posting lists in a GPU's memory. Host code, which copies nothing.
namespace quern::gpu {

/// The format of a list's documents.
enum class ListFormat : std::uint8_t {
  coded,      ///< in blocks, as in the index
  documents,  ///< rising docIDs
  buckets,    ///< rising docIDs, with a directory of buckets
  bits,       ///< a bit for each document of the collection
};

/// A list's format and place in the memory for unpacked lists, in words of 32 bits.
struct UnpackedPlace {
  ListFormat format = ListFormat::coded;
  std::uint8_t bucket_shift = 0;
  std::uint32_t first_docid = 0;   ///< of the first bucket
  std::uint64_t first_word = 0;    ///< of docIDs or bits
  std::uint64_t words = 0;         ///< of docIDs or bits, directory excluded
  std::uint64_t first_bucket = 0;  ///< of the directory
};

/// Words of a list in bits: a multiple of what a warp reads at a time.
constexpr std::uint32_t bit_words(std::uint32_t num_documents) { return (num_documents / 32 / 128 + 1) * 128; }

/// Words of a list of `df` postings among `documents` documents, directory included.
std::uint64_t unpacked_words(ListFormat format, std::uint32_t df, std::uint32_t documents);
/// The place of such a list from a word on.
UnpackedPlace unpacked_place(ListFormat format, std::uint32_t df, std::uint32_t documents, std::uint64_t first_word);

/// A list is unpacked once queries would have decoded its postings this many times. For any queries, that costs at most
/// this factor more than the best choice with all queries known in advance.
inline constexpr std::uint64_t decodings_before_unpacking = 2;
/// Lists with at least one posting per this many documents are unpacked to bits, which then take less space.
inline constexpr std::uint64_t documents_per_dense_posting = 32;

struct ListState : Evictable {
  UnpackedPlace place;
  std::uint64_t words = 0;          ///< in memory, directory included; 0: not unpacked
  std::uint64_t postings_used = 0;  ///< postings that queries would have decoded so far, or since it was dropped
};

/// Gives lists places in memory. A list that a batch in flight uses stays in its place; others are evicted by
/// ListRetention when memory is needed. An evicted list's count restarts, so decodings always pay for unpacking.
class UnpackedLists {
 public:
  /// Lists stay after a batch with any retention, which only sets the order of eviction.
  UnpackedLists(docid_t num_documents, std::uint64_t words, ListRetention retention = ListRetention::lfu);

  /// A list's state; the reference is valid until clear().
  ListState& state_of(term_t number) { return states_[number]; }
  /// Counts that a batch would decode about `postings` of a list's postings. Returns whether to unpack the list.
  static bool count_use(ListState& state, std::uint64_t df, std::uint64_t postings) {
    return (state.postings_used += postings) >= decodings_before_unpacking * df;
  }
  /// Gives a list of `df` postings, which must have none yet, a place, and keeps it there for the flight's batch, which
  /// unpacks it. False if the lists in use leave too little memory.
  bool add(unsigned flight, std::uint32_t df, Unpacking unpacking, ListState& state);
  /// Keeps an unpacked list in its place for the flight's batch. Call it once per list and batch.
  void use(unsigned flight, ListState& state) { use(flight, state, false); }
  /// Ends the flight's use of lists, after its batch's kernels have ended.
  void release(unsigned flight) { end_use(flight, true); }
  /// Replaces release() for a batch that was not started, and drops the lists that it should have unpacked.
  void cancel(unsigned flight) { end_use(flight, false); }
  /// Drops all lists. None may be in use.
  void clear() { *this = UnpackedLists(num_documents_, words_, retention_); }
  /// Whether a batch in flight uses lists.
  bool in_use() const { return used_words_ > 0; }
  std::uint64_t words() const { return words_; }

 private:
  struct Use {
    ListState* state = nullptr;
    bool unpacks = false;  ///< this flight's batch unpacks it
  };

  std::vector<Use>& uses_of(unsigned flight) {
    if (in_use_.size() <= flight) in_use_.resize(flight + 1);
    return in_use_[flight];
  }
  void use(unsigned flight, ListState& state, bool unpacks);
  void end_use(unsigned flight, bool ran);
  /// Makes room for `words` words by dropping unused lists. Empty, without drops, if the lists in use leave too few.
  std::optional<std::uint64_t> take(std::uint64_t words);
  void drop(ListState& state);

  docid_t num_documents_;
  std::uint64_t words_;
  Extents places_;  ///< of place_words words each
  EvictionOrder<ListState> order_;
  ListRetention retention_;
  std::uint64_t used_words_ = 0;          ///< of lists in use
  std::vector<std::vector<Use>> in_use_;  ///< by flight
  std::unordered_map<term_t, ListState> states_;
};

}  // namespace quern::gpu
