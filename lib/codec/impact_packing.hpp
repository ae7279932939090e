#pragma once
#include <bit>
#include <span>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"

/// Quantized impacts of a posting list: values of one width, in the list's blocks, each block starting at a word
/// boundary, so that a block's offset is one multiplication.
namespace quern {

/// The width for a list whose largest impact is `greatest`.
constexpr unsigned impact_width_of(std::uint32_t greatest) { return static_cast<unsigned>(std::bit_width(greatest)); }

/// Words of a block of n impacts.
constexpr std::size_t impact_words(unsigned n, unsigned width) { return words_of_bits(std::uint64_t{n} * width); }

/// Words of a list of `df` impacts.
constexpr std::uint64_t impact_list_words(std::uint64_t df, unsigned block_size, unsigned width) {
  return df / block_size * impact_words(block_size, width) +
         impact_words(static_cast<unsigned>(df % block_size), width);
}

/// Appends a block. `width` is 1 to 16; no value is wider.
inline void put_impacts(std::span<const std::uint32_t> impacts, unsigned width, Words& out) {
  const std::size_t from = out.size(), words = impact_words(static_cast<unsigned>(impacts.size()), width);
  out.resize(from + words + pack_slack_words);
  pack(impacts.data(), static_cast<unsigned>(impacts.size()), width, out.data() + from, 0);
  out.resize(from + words);
}

/// The impacts of a block. `list` is PostingList::impacts.
inline const std::uint32_t* impact_block(WordView list, unsigned width, unsigned block_size, std::size_t block) {
  return list.data() + block * impact_words(block_size, width);
}

/// Unpacks the n impacts of a block at the best SimdLevel; writes up to unpack_slack values past them, and reads up to
/// over_read_bytes past the block.
inline void decode_impacts(const std::uint32_t* block, unsigned width, unsigned n, std::uint32_t* out) {
  kernels().unpack(block, 0, width, n, out);
}

/// The impact of posting `place` of a block. Reads at most 7 bytes past the block.
inline std::uint32_t impact_at(const std::uint32_t* block, unsigned width, unsigned place) {
  return unpack_one(block, std::uint64_t{place} * width, width);
}

}  // namespace quern
