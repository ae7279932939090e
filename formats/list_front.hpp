#pragma once
#include <cstdint>

#include "quern/formats/index_file.hpp"

/// What a GPU with less memory than the index keeps of posting lists. Plans and the GPU's list store both count with
/// these functions.
namespace quern {

/// Words of 32 bits of a posting list, or of a part of it.
struct ListWords {
  std::uint64_t coded = 0;    ///< with the list's header
  std::uint64_t impacts = 0;  ///< quantized, of the same blocks

  std::uint64_t size() const { return coded + impacts; }
  std::uint64_t size_bytes() const { return size() * sizeof(std::uint32_t); }
};

/// Whether a GPU keeps a list: lists of one block come with the queries that need them.
inline bool is_kept(const PostingList& list) { return !list.block_last.empty(); }

/// The first `blocks` blocks, in the index's size, of a list that is_kept(): the whole list if it has no more, or if
/// its rows or impacts contradict each other. `with_impacts`: whether impacts are kept, which quantized scores need.
ListWords front_of(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts);

/// The first `blocks` blocks, in the index's size, of a list that has more, as a list. Numbers that do not depend on
/// where the list ends, and those that are upper bounds, stay those of the whole list; IDF is not among them.
PostingList list_of_front(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts);

/// A block row: last docID, offset, maximum.
inline constexpr std::uint64_t block_row_bytes = sizeof(docid_t) + sizeof(std::uint32_t) + sizeof(std::uint16_t);

/// The block rows that a kept list takes where only kept lists have theirs: by twos, so that rows of 16 bits begin at
/// whole words. All rows of a list come with its first block.
inline std::uint64_t rows_kept(const PostingList& list) { return (list.block_last.size() + 1) / 2 * 2; }

/// The bytes of all coded lists, those of one block included, and of their impacts if these are kept: what shares of an
/// index's lists are shares of.
std::uint64_t coded_list_bytes(const IndexReader& index, bool with_impacts);

}  // namespace quern
