#pragma once
#include "quern/codec/rice.hpp"
#include "quern/gpu/device/index_view.hpp"

/// Places of blocks and of their decoded postings. Constexpr functions run on host and device.
namespace quern::gpu {

/// A block of a list, located by its row.
struct BlockPlace {
  const std::uint32_t* words = nullptr;
  const std::uint32_t* list = nullptr;  ///< the list's first word: its header
  std::uint32_t size = 0;               ///< in words, frequencies included; 0 if the row is damaged
  std::uint32_t n = 0;                  ///< postings
  std::uint32_t before = 0;             ///< maximum docID of the previous block; -1 for the first
  std::uint32_t last = 0;               ///< maximum docID of the block, if has_row
  bool has_row = false;
};

/// The front or tail that contains a block: words [low, high) of the list. Empty if the block is not in memory.
struct ListPart {
  const std::uint32_t* words = nullptr;
  std::uint32_t low = 0, high = 0;
};

constexpr ListPart part_of(const IndexView& index, const ListView& list, std::uint32_t block) {
  if (block < list.front_blocks) return {index.postings + list.first_word, 0, list.front_words};
  if (block < list.begin_block || block >= list.end_block) return {};
  return {index.postings + list.tail_word, list.tail_begin, list.words};
}

/// A block's place. Rows are not trusted: a block lies within its front or tail, or has size 0.
constexpr BlockPlace place_of(const IndexView& index, const ListView& list, std::uint32_t block) {
  BlockPlace place;
  place.list = index.postings + list.first_word;
  place.before = 0xffffffffu;
  std::uint32_t begin = list.header_words, end = list.words;
  if (list.rows != 0) {
    const std::uint64_t row = list.first_row + block;
    begin = index.block_offset[row];
    if (block + 1 < list.rows) end = index.block_offset[row + 1];
    if (block > 0) place.before = index.block_last[row - 1];
    place.last = index.block_last[row];
    place.has_row = true;
  }
  const std::uint32_t first = block * index.block_size;
  place.n = list.df - first < index.block_size ? list.df - first : index.block_size;
  place.words = place.list;
  const ListPart part = part_of(index, list, block);
  if (part.low <= begin && begin < end && end <= part.high) {
    place.words = part.words + (begin - part.low);
    place.size = end - begin;
  }
  return place;
}

/// The number that an exception adds to the value in its slot.
constexpr std::uint32_t exception_addend(std::uint32_t high, unsigned width) {
  return width < 32 ? (high + 1) << width : 0;
}

/// The destination of decoded postings.
struct DecodeOutput {
  std::uint32_t* docids = nullptr;
  std::uint32_t* freqs = nullptr;                ///< null: docIDs only
  const std::uint64_t* first_posting = nullptr;  ///< per list, its place in the output
  const std::uint64_t* first_block = nullptr;    ///< per list, number of its first block; then the end of the last
  std::uint64_t end_block = 0;                   ///< after the last block to decode
  std::uint64_t begin_block = 0;                 ///< the first list's first block
  bool distances = false;                        ///< whether to write distances between documents instead of docIDs
};

/// The places of the parts of a Rice-coded block, for both decoders.
struct RiceParts {
  std::uint32_t docid_width = 0, freq_width = 0;
  std::uint32_t docid_unary = 0, freq_unary = 0;  ///< lengths, in bits
  std::uint32_t remainders_bit = 0, docid_unary_bit = 0;

  /// Reads the places. False if they are not within the block.
  constexpr bool open(const BlockPlace& place) {
    if (place.size == 0) return false;
    const rice::Widths widths = rice::Widths::from_word(place.list[0]);
    docid_width = widths.docid;
    freq_width = widths.freq;
    const std::uint32_t first = place.words[0];
    std::uint32_t word = 1;
    docid_unary = first & 0xffff;
    freq_unary = first >> 16;
    if (docid_unary == rice::long_length) docid_unary = place.words[word++];
    if (freq_unary == rice::long_length) freq_unary = place.words[word++];
    if (docid_unary < place.n || freq_unary < place.n) return false;
    const std::uint64_t remainders = std::uint64_t{32} * word;
    const std::uint64_t unary = remainders + std::uint64_t{place.n} * (docid_width + freq_width);
    remainders_bit = static_cast<std::uint32_t>(remainders);
    docid_unary_bit = static_cast<std::uint32_t>(unary);
    // Bits are counted in 32 bits, since no writer makes blocks of half a gigabyte.
    const std::uint64_t end = unary + docid_unary + freq_unary;
    return end <= std::uint64_t{32} * place.size && end < 0xffffffffu;
  }
};

}  // namespace quern::gpu
