#pragma once
#include "quern/core/types.hpp"

/// Working memory of the strategy `partition`.
namespace quern::gpu {

/// A thread's fields per term of its query, except decoded blocks. Neighbouring threads' fields are contiguous.
enum class CursorField : std::uint32_t {
  docid,        ///< the cursor's; no_more_docids after the last posting
  block,        ///< the decoded block
  place,        ///< the cursor's place in the block
  count,        ///< postings of the block; 0 before the first block
  freqs_block,  ///< the block whose frequencies are decoded, plus 1
  skipped_to,   ///< WAND: postings before this docID no longer matter
  order,        ///< WAND: the term with the i-th lowest `skipped_to`
  bound_row,    ///< block-max WAND: the last row found
  bound_end,    ///< block-max WAND: `bound` is valid for lower docIDs
  bound,        ///< block-max WAND: upper bound of the term score, as the bits of a float
};
enum class PartitionMethod : std::uint8_t { intersect, unite, wand, block_max_wand };

/// The number of cursor fields that a method uses, from the first on.
constexpr std::uint32_t term_fields(PartitionMethod method) {
  if (method == PartitionMethod::wand) return 7;
  return method == PartitionMethod::block_max_wand ? 10 : 5;
}

/// A thread block's working memory on the device, in words, array by array.
struct PartitionLayout {
  std::uint32_t threads = 0, block_size = 0;
  std::uint32_t fields = 0;  ///< per term
  std::uint32_t nested = 0;  ///< per thread, for nested arrays
  std::uint64_t heaps_word = 0, fields_word = 0, docids_word = 0, freqs_word = 0, nested_word = 0, words = 0;

  constexpr PartitionLayout() = default;
  /// For queries of at most `terms` terms.
  constexpr PartitionLayout(std::uint32_t with_threads, std::uint32_t terms, PartitionMethod method, std::size_t k,
                            std::uint32_t block_postings, bool with_freqs, std::uint32_t nested_numbers)
      : threads(with_threads), block_size(block_postings), fields(term_fields(method)), nested(nested_numbers) {
    const std::uint64_t buffers = std::uint64_t{threads} * terms * block_size;
    fields_word = heaps_word + 2 * threads * std::uint64_t{k};
    docids_word = fields_word + std::uint64_t{fields} * threads * terms;
    freqs_word = docids_word + buffers;
    nested_word = freqs_word + (with_freqs ? buffers : 0);
    words = (nested_word + std::uint64_t{threads} * nested + 63) / 64 * 64;
  }
};

/// Arguments of the kernel besides the batch.
struct PartitionWork {
  PartitionMethod method = PartitionMethod::unite;
  PartitionLayout layout;
  std::uint32_t* buffer = nullptr;  ///< layout.words for each thread block
  float max_static_score = 0;       ///< of all documents
  /// Sums of cycles of thread blocks, by stage: initialization, scoring, merging. Null: not counted.
  unsigned long long* stage_cycles = nullptr;
};
inline constexpr unsigned partition_stages = 3;

}  // namespace quern::gpu
