#pragma once
#include <cstddef>
#include <cstdint>

#include "quern/core/simd_level.hpp"
#include "quern/core/types.hpp"

/// The inner loops of queries, written once for each SimdLevel. All give the same values, bit by bit.
namespace quern {

/// What a kernel may read and write past the end of its arrays, in values; it doesn't interpret what it reads there.
inline constexpr std::size_t kernel_slack = 16;
/// Documents that find() takes at a time.
inline constexpr std::size_t max_wanted = 512;

/// The documents of a block of postings.
struct BlockDocids {
  const docid_t* docids = nullptr;  ///< ascending; kernel_slack more are end_docid
  unsigned size = 0;                ///< at least 1
};

/// A document that was found in a block: its number among those that were looked for, and its place in the block.
struct FoundPosting {
  std::uint16_t document = 0;
  std::uint16_t place = 0;
};

/// Documents and their scores, in docID order.
struct ScoredArrays {
  docid_t* docids = nullptr;
  float* scores = nullptr;
};

/// How term scores follow from frequencies: weight ⊗ (f ⊘ (K ⊕ f)).
struct ImpactScale {
  const float* constants = nullptr;  ///< K_d of each docID
  float weight = 0;
};

struct QueryKernels {
  /// Looks for the documents with the numbers `first` to end - 1, at most max_wanted, of ascending ones in a block
  /// whose last one is not below them. Writes those that it contains, in order, and returns how many they are; up to
  /// one more may be overwritten.
  std::size_t (*find)(const docid_t* wanted, std::size_t first, std::size_t end, BlockDocids block,
                      FoundPosting* found);
  /// out[i] = term score of the posting (docids[i], freqs[i]), for n postings.
  void (*term_scores)(const freq_t* freqs, const docid_t* docids, std::size_t n, ImpactScale scale, float* out);
  /// Adds terms[i] to sums[docids[i] - begin] for n different documents from `begin` on.
  void (*add)(const docid_t* docids, const float* terms, std::size_t n, docid_t begin, float* sums);
  /// Writes the documents begin + i with sums[i] above `min` (which is at least `nothing`), for n sums, in order, and
  /// sets all sums to `nothing`. Returns their number. n is rounded up to a multiple of kernel_slack: sums there must
  /// be `nothing`.
  std::size_t (*take_above)(float* sums, std::size_t n, docid_t begin, float min, float nothing, ScoredArrays out);
  /// Moves those of the n documents with scores above `min` to the front of `out`, which may be the same arrays or
  /// begin before them. Returns their number.
  std::size_t (*keep_above)(const docid_t* docids, const float* scores, std::size_t n, float min, ScoredArrays out);
  /// How many of the first n of ascending docIDs are at most `last`.
  std::size_t (*count_up_to)(const docid_t* docids, std::size_t n, docid_t last);
};

/// Of simd_level().
const QueryKernels& query_kernels();
/// One of simd_levels().
const QueryKernels& query_kernels_of(SimdLevel level);

extern const QueryKernels portable_query_kernels;
#if defined(__AVX2__)
extern const QueryKernels avx2_query_kernels, avx512_query_kernels;
#endif

}  // namespace quern
