#pragma once
#include <bit>

#include "quern/core/scratch_memory.hpp"
#include "quern/core/simd_level.hpp"
#include "quern/search/document_set.hpp"
#include "quern/search/top_k.hpp"

/// The inner loops of queries, written once for each SimdLevel. All give the same values, bit for bit.
namespace quern {

/// Number of values that a kernel may read (and ignore) or overwrite past the end of its arrays.
inline constexpr std::size_t kernel_slack = 16;
/// Maximum number of documents per call of find().
inline constexpr std::size_t max_wanted = 512;

/// The docIDs of a block of postings.
struct BlockDocids {
  const docid_t* docids = nullptr;  ///< ascending; kernel_slack more are end_docid
  unsigned size = 0;                ///< at least 1
};

/// A document found in a block: its number among those searched for, and its place in the block.
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

/// Documents of a bitmap's block, one bit for each, and blocks of its window: as many, so that the kernel that adds up
/// blocks' impacts also adds up their maxima.
inline constexpr unsigned bitmap_block = 64, bitmap_window = bitmap_block * bitmap_block;

/// A list in a window of documents, as a bitmap.
struct BitmapWindow {
  const std::uint64_t* bits = nullptr;    ///< of each block
  const std::uint16_t* ranks = nullptr;   ///< postings in the window before each block
  const std::uint8_t* impacts = nullptr;  ///< of the window's postings; kernels may read 64 bytes of any block's
  std::int32_t weight = 0;                ///< factor of the impacts, at most max_bitmap_weight
};
inline constexpr std::int32_t max_bitmap_weight = 0x7fff;

struct QueryKernels {
  /// Searches a block for wanted[first] to wanted[end - 1]: ascending, at most max_wanted, none above the block's last
  /// docID. Writes those that the block contains, in order, and returns their number; may overwrite one more element.
  std::size_t (*find)(const docid_t* wanted, std::size_t first, std::size_t end, BlockDocids block,
                      FoundPosting* found);
  /// out[i] = term score of the posting (docids[i], freqs[i]), for n postings.
  void (*term_scores)(const freq_t* freqs, const docid_t* docids, std::size_t n, ImpactScale scale, float* out);
  /// Adds terms[i] to sums[docids[i] - begin] for n distinct documents from `begin` on.
  void (*add)(const docid_t* docids, const float* terms, std::size_t n, docid_t begin, float* sums);
  /// As add(), for terms that are weight times an impact: an integer below 2^24.
  void (*add_impacts)(const docid_t* docids, const std::uint8_t* impacts, std::size_t n, float weight, docid_t begin,
                      float* sums);
  /// Writes the documents begin + i with sums[i] above `min` (which is at least `nothing`), for n sums, in order, and
  /// sets all sums to `nothing`. Returns their number. n is rounded up to a multiple of kernel_slack: sums there must
  /// be `nothing`.
  std::size_t (*take_above)(float* sums, std::size_t n, docid_t begin, float min, float nothing, ScoredArrays out);
  /// Moves those of the n documents with scores above `min` to the front of `out`, which may be the same arrays or
  /// begin before them. Returns their number.
  std::size_t (*keep_above)(const docid_t* docids, const float* scores, std::size_t n, float min, ScoredArrays out);
  /// The number of docIDs among the first n (ascending) that are at most `last`.
  std::size_t (*count_up_to)(const docid_t* docids, std::size_t n, docid_t last);
  /// Adds weight times impact for the postings of n lists in a block of their window to sums[i], for document i of the
  /// block. Returns the number of postings. Sums are integers below 2^24, here and below.
  std::size_t (*add_bitmaps)(const BitmapWindow* lists, std::size_t n, unsigned block, float* sums);
  /// Adds the greatest sum of each of a window's blocks to the block's bound.
  void (*add_greatest)(const float* sums, float* bounds);
  /// The blocks of a window with bounds above `min`, one bit for each.
  std::uint64_t (*blocks_above)(const float* bounds, float min);
  /// Adds up a block as add_bitmaps() does, but leaves `sums` as they are: writes the documents begin + i with totals
  /// above `min`, which is at least 0, in order. Adds the number of postings to *postings. Returns that of documents.
  std::size_t (*score_block)(const BitmapWindow* lists, std::size_t n, unsigned block, const float* sums, docid_t begin,
                             float min, ScoredArrays out, std::uint64_t* postings);
};

/// The kernels of simd_level().
const QueryKernels& query_kernels();
/// `level`: one of simd_levels().
const QueryKernels& query_kernels_of(SimdLevel level);

extern const QueryKernels portable_query_kernels;
#if defined(__AVX2__)
extern const QueryKernels avx2_query_kernels, avx512_query_kernels;
#endif

/// Moves those of n documents that are in `set`, with their scores, to the front; returns their number.
inline std::size_t keep_documents(const DocumentSet& set, docid_t* docids, float* scores, std::size_t n) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const docid_t docid = docids[i];
    docids[kept] = docid;
    scores[kept] = scores[i];
    kept += set.contains(docid);
  }
  return kept;
}

/// Documents that may become results, in docID order, with the sums of their term scores so far.
class Candidates {
 public:
  /// `room`: maximum number of documents.
  explicit Candidates(std::size_t room) : docids_(room + kernel_slack), scores_(room + kernel_slack) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  docid_t* docids() { return docids_.get(); }
  float* scores() { return scores_.get(); }
  /// The arrays from document i on.
  ScoredArrays from(std::size_t i) { return {docids_.get() + i, scores_.get() + i}; }
  /// Sets the number of documents after writing them to the arrays.
  void resize(std::size_t size) { size_ = size; }
  /// Adds documents written behind the present ones.
  void grow(std::size_t written) { size_ += written; }
  /// Keeps the documents in `set`; all if it is null.
  void keep(const DocumentSet* set) {
    if (set) size_ = keep_documents(*set, docids(), scores(), size_);
  }

 private:
  ScratchArray<docid_t> docids_;
  ScratchArray<float> scores_;
  std::size_t size_ = 0;
};

/// Adds all candidates to the results.
inline void add_all(Candidates& documents, TopK& top) {
  top.add(documents.docids(), documents.scores(), documents.size());
}

}  // namespace quern
