#pragma once
#include "quern/codec/rice_layout.hpp"
#include "quern/gpu/decode/block_place.hpp"

namespace quern::gpu {

/// Where the parts of a Rice-coded block are, for both decoders.
struct RiceParts {
  std::uint32_t docid_width = 0, freq_width = 0;
  std::uint32_t docid_unary = 0, freq_unary = 0;  ///< lengths, in bits
  std::uint32_t remainders_bit = 0, docid_unary_bit = 0;

  /// Reads them. False if they are not within the block.
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
    // Bits are counted in 32 bits here: no writer makes blocks of half a gigabyte.
    const std::uint64_t end = unary + docid_unary + freq_unary;
    return end <= std::uint64_t{32} * place.size && end < 0xffffffffu;
  }
};

}  // namespace quern::gpu
