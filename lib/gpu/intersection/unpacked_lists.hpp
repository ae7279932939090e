#pragma once
#include <cstdint>
#include <unordered_map>

#include "quern/core/types.hpp"
#include "quern/gpu/intersection/intersect_method.hpp"

/// Which posting lists stand unpacked in a GPU's memory, and where. Host code: nothing is copied here.
namespace quern::gpu {

/// How kernels find a list's documents.
enum class ListForm : std::uint8_t {
  coded,      ///< in its blocks
  documents,  ///< rising docIDs
  buckets,    ///< rising docIDs, with a directory of buckets
  bits,       ///< a bit for each document of the collection
};

/// Where a list stands in the memory for unpacked lists, in words of 32 bits.
struct UnpackedPlace {
  ListForm form = ListForm::coded;
  std::uint8_t bucket_shift = 0;
  std::uint64_t first_word = 0;    ///< of docIDs or bits
  std::uint64_t first_bucket = 0;  ///< of the directory
};

/// Words of a list's bits, for a collection of so many documents: a multiple of what a warp reads at a time.
constexpr std::uint32_t bit_words(std::uint32_t num_documents) { return (num_documents / 32 / 128 + 1) * 128; }

/// A list is unpacked when it was asked for so often that its blocks would have been decoded this many times over: no
/// more than that factor is lost against knowing beforehand, whatever is asked.
inline constexpr std::uint64_t decodings_before_unpacking = 2;
/// Lists with a posting for so many documents, or fewer, are unpacked to bits: as large as docIDs at most.
inline constexpr std::uint64_t documents_a_dense_posting = 32;

/// What is known of a list.
struct ListState {
  UnpackedPlace place;
  std::uint64_t asked = 0;  ///< postings of it that would have been decoded
};

/// Lists come one behind the other until there is no room; then all are forgotten.
class UnpackedLists {
 public:
  UnpackedLists(docid_t num_documents, std::uint64_t words) : num_documents_(num_documents), words_(words) {}

  /// A list's state, which stays where it is until clear().
  ListState& state_of(term_t number) { return states_[number]; }
  /// Notes that about so many postings of a list would be decoded. True once that is enough to unpack it.
  static bool ask(ListState& state, std::uint64_t df, std::uint64_t postings) {
    return (state.asked += postings) >= decodings_before_unpacking * df;
  }
  /// Gives a list of so many postings, which has none, a place; false where there is no room.
  bool add(std::uint32_t df, Unpacking unpacking, ListState& state);
  /// Words behind the last list: those that lists get until the next call of clear() have greater places.
  std::uint64_t end() const { return end_; }
  void clear();

 private:
  docid_t num_documents_;
  std::uint64_t words_, end_ = 0;
  std::unordered_map<term_t, ListState> states_;
};

}  // namespace quern::gpu
