#pragma once
#include <cstddef>
#include <cstdint>

/// Room of the strategy `partition` in a GPU's memory.
namespace quern::gpu {

/// What a thread knows of each term of its query, besides decoded blocks. Where threads are at the same term, the
/// numbers of neighbouring threads are neighbours.
enum class TermField : std::uint32_t {
  docid,        ///< where the cursor is; end_docid behind the last posting
  block,        ///< that is decoded
  place,        ///< in it
  count,        ///< of its postings; 0 before the first block
  freqs_block,  ///< whose frequencies are decoded, plus 1
  stand,        ///< of WAND: no posting before this docID is of use any more
  order,        ///< of WAND: the number of the term whose `stand` is the so manieth
  bound_row,    ///< of block-max WAND: the row that was last looked for
  bound_end,    ///< the bound holds before this docID
  bound,        ///< as the bits of a float
};
enum class PartitionMethod : std::uint8_t { intersect, unite, wand, block_max_wand };

/// Of those, the first so many are needed.
constexpr std::uint32_t term_fields(PartitionMethod method) {
  if (method == PartitionMethod::wand) return 7;
  return method == PartitionMethod::block_max_wand ? 10 : 5;
}

/// Words of a thread block's room in the GPU's memory, part by part.
struct PartitionLayout {
  std::uint32_t threads = 0, block_size = 0;
  std::uint32_t fields = 0;  ///< of a term
  std::uint32_t nested = 0;  ///< numbers of a thread for nested arrays
  std::uint64_t heaps_word = 0, fields_word = 0, docids_word = 0, freqs_word = 0, nested_word = 0, words = 0;

  constexpr PartitionLayout() = default;
  /// For queries of `terms` terms at most.
  constexpr PartitionLayout(std::uint32_t with_threads, std::uint32_t terms, PartitionMethod method, std::size_t k,
                            std::uint32_t of_block_size, bool with_freqs, std::uint32_t nested_numbers)
      : threads(with_threads), block_size(of_block_size), fields(term_fields(method)), nested(nested_numbers) {
    const std::uint64_t buffers = std::uint64_t{threads} * terms * block_size;
    fields_word = heaps_word + 2 * threads * std::uint64_t{k};
    docids_word = fields_word + std::uint64_t{fields} * threads * terms;
    freqs_word = docids_word + buffers;
    nested_word = freqs_word + (with_freqs ? buffers : 0);
    words = (nested_word + std::uint64_t{threads} * nested + 63) / 64 * 64;
  }
};

}  // namespace quern::gpu
