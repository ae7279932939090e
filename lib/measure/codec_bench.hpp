#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/codec/simd_level.hpp"
#include "quern/core/types.hpp"

/// Measures how fast codecs encode and decode, on one core.
namespace quern {

/// Posting lists as encoders take them: gaps less one and frequencies less one, list after list.
struct BenchLists {
  std::vector<std::uint32_t> gaps, freqs;
  std::vector<std::size_t> ends;  ///< of each list's values

  std::size_t size() const { return gaps.size(); }
  void add(std::span<const docid_t> docids, std::span<const freq_t> freqs_);
};

/// `postings` postings in lists of `length`, documents in clusters as in a collection in URL order: three gaps of four
/// are small, the others far above the mean. Frequencies are geometric. The same for the same numbers and seed.
BenchLists clustered_lists(std::size_t postings, std::size_t length, double mean_gap, std::uint64_t seed);

struct CodecSetUp {
  const Codec* codec;
  CodecOptions options;
};

/// Seconds are medians over the repeats, of a pass over all lists.
struct DecodingTimes {
  SimdLevel level;
  double docid_seconds, freq_seconds;
};
struct CodecFigures {
  CodecSetUp set_up;
  CodedBits bits;
  double encode_seconds;
  std::vector<DecodingTimes> decoding;  ///< at each of simd_levels()
};
struct CodecBench {
  std::size_t lists, postings;
  double memcpy_seconds;  ///< to copy as many values, in blocks of 128, to where decoders put theirs
  std::vector<CodecFigures> figures;
};

/// Warms up once, then measures all set-ups `repeats` times in turn, so that a machine that slows down slows all.
/// Blocks are decoded to one buffer, as queries do. Throws InvalidArgument where there are no postings or no repeats.
CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups, unsigned repeats);

}  // namespace quern
