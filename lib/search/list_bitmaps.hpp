#pragma once
#include <tbb/concurrent_unordered_map.h>

#include <mutex>

#include "quern/formats/index_file.hpp"
#include "quern/search/kernels.hpp"

/// Bitmaps of lists that have many of the documents, made when a query first needs them.
namespace quern {

/// A list with quantized impacts, as a bitmap of its documents: blocks of them are scored in wide registers, and in any
/// order.
class ListBitmap {
 public:
  /// Throws CorruptFile if the list can't be decoded.
  ListBitmap(const IndexReader& index, const PostingList& list);

  /// Whether a list is worth a bitmap: impacts are at most bytes, and the bitmap takes no more memory than the list.
  static bool suits(const IndexReader& index, const PostingList& list) {
    return list.impact_width > 0 && list.impact_width <= 8 &&
           list.df >= index.num_documents() / max_documents_per_posting;
  }
  /// The memory that a list's bitmap takes.
  static std::uint64_t bytes(const IndexReader& index, const PostingList& list);

  BitmapWindow window(std::size_t window, std::int32_t weight) const {
    const std::size_t block = window * bitmap_block;
    return {bits_.data() + block, ranks_.data() + block, impacts_ + postings_before_[window], weight};
  }
  /// The greatest impacts in a window's blocks, as block 0 of a window.
  BitmapWindow maxima(std::size_t window, std::int32_t weight) const {
    return {&all_bits, &no_rank, maxima_.data() + window * bitmap_block, weight};
  }

 private:
  static constexpr std::uint64_t max_documents_per_posting = 10;
  static constexpr std::uint64_t all_bits = ~std::uint64_t{0};
  static constexpr std::uint16_t no_rank = 0;

  static std::uint64_t copied_bytes(const IndexReader& index, const PostingList& list);

  std::vector<std::uint64_t> bits_;             ///< of blocks, in whole windows, like the next two
  std::vector<std::uint16_t> ranks_;            ///< postings in the window before the block
  std::vector<std::uint8_t> maxima_;            ///< greatest impact in the block
  std::vector<std::uint64_t> postings_before_;  ///< each window
  std::vector<std::uint8_t> copied_;            ///< impacts, unless the index has bytes
  const std::uint8_t* impacts_ = nullptr;
};

/// The bitmaps of an index's lists. Thread-safe.
class ListBitmaps {
 public:
  /// The index must outlive it. Bitmaps take at most `max_bytes`; lists that come later get none.
  ListBitmaps(const IndexReader& index, std::uint64_t max_bytes) : index_(index), max_bytes_(max_bytes) {}

  /// The list's bitmap, made if necessary; null if a bitmap doesn't suit the list or exceeds the memory.
  const ListBitmap* find(const PostingList& list);

 private:
  const IndexReader& index_;
  std::uint64_t max_bytes_, bytes_ = 0;
  std::mutex making_;
  tbb::concurrent_unordered_map<term_t, std::unique_ptr<const ListBitmap>> bitmaps_;
};

}  // namespace quern
