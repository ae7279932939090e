#pragma once
#include <cstdint>
#include <unordered_map>

#include "quern/core/types.hpp"
#include "quern/gpu/intersection/intersect_method.hpp"

/// Which posting lists are unpacked in a GPU's memory, and where. Host code: nothing is copied here.
namespace quern::gpu {

/// How kernels find a list's documents.
enum class ListForm : std::uint8_t {
  coded,      ///< in its blocks
  documents,  ///< rising docIDs
  buckets,    ///< rising docIDs, with a directory of buckets
  bits,       ///< a bit for each document of the collection
};

/// A list's place in the memory for unpacked lists, in words of 32 bits.
struct UnpackedPlace {
  ListForm form = ListForm::coded;
  std::uint8_t bucket_shift = 0;
  std::uint64_t first_word = 0;    ///< of docIDs or bits
  std::uint64_t first_bucket = 0;  ///< of the directory
};

/// Words of a list's bits in a collection of `num_documents`: a multiple of what a warp reads at a time.
constexpr std::uint32_t bit_words(std::uint32_t num_documents) { return (num_documents / 32 / 128 + 1) * 128; }

/// A list is unpacked once queries would have decoded its blocks this many times over. Whatever the queries are, that
/// costs at most this factor more than knowing them in advance.
inline constexpr std::uint64_t decodings_before_unpacking = 2;
/// Lists with at least one posting per this many documents are unpacked to bits, which take no more than docIDs.
inline constexpr std::uint64_t documents_a_dense_posting = 32;

/// A list's state.
struct ListState {
  UnpackedPlace place;
  std::uint64_t asked = 0;  ///< postings of it that would have been decoded
};

/// Places lists one after another. When the memory is full the owner clears it, and all are forgotten.
class UnpackedLists {
 public:
  UnpackedLists(docid_t num_documents, std::uint64_t words) : num_documents_(num_documents), words_(words) {}

  /// A list's state, which stays where it is until clear().
  ListState& state_of(term_t number) { return states_[number]; }
  /// Counts about `postings` of a list that would be decoded. Returns true once the list should be unpacked.
  static bool ask(ListState& state, std::uint64_t df, std::uint64_t postings) {
    return (state.asked += postings) >= decodings_before_unpacking * df;
  }
  /// Gives a list of `df` postings a place, which it must not have yet; false if the memory is full.
  bool add(std::uint32_t df, Unpacking unpacking, ListState& state);
  /// The first free word.
  std::uint64_t end() const { return end_; }
  void clear();

 private:
  docid_t num_documents_;
  std::uint64_t words_, end_ = 0;
  std::unordered_map<term_t, ListState> states_;
};

}  // namespace quern::gpu
