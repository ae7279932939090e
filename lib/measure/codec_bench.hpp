#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/measure/bench_lists.hpp"
#include "quern/measure/peers/peer_codec.hpp"

/// Measures how fast codecs encode and decode, on one core.
namespace quern {

struct CodecSetUp {
  const Codec* codec;
  CodecOptions options;
};

struct PeerSetUp {
  const PeerCodec* codec;
  unsigned block_size;  ///< 0: a whole list at a time
};

/// Seconds of processor time: medians over the repeats, of a pass over all lists.
struct DecodingTimes {
  double docid_seconds = 0, freq_seconds = 0;
};
struct CodecFigures {
  CodecSetUp set_up;
  CodedBits bits;
  double encode_seconds;
  std::vector<std::pair<SimdLevel, DecodingTimes>> decoding;  ///< at each of simd_levels()
};
struct PeerFigures {
  PeerSetUp set_up;
  CodedBits bits;
  double encode_seconds;
  DecodingTimes decoding;
};
struct CodecBench {
  std::size_t lists, postings;
  double memcpy_seconds;  ///< to copy as many values, in blocks of 128, to where decoders put theirs
  std::vector<CodecFigures> figures;
  std::vector<PeerFigures> peers;
};

/// Warms up once, then measures all set-ups `repeats` times in turn, so that a machine that slows down slows all.
/// Blocks are decoded to one buffer, as queries do. Throws InvalidArgument where there are no postings or no repeats.
CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups,
                          const std::vector<PeerSetUp>& peers, unsigned repeats);

}  // namespace quern
