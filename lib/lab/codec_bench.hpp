#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/lab/bench_lists.hpp"
#include "quern/lab/peer_codec.hpp"

/// Measures how fast codecs encode and decode, on one core.
namespace quern {

struct CodecSetUp {
  const Codec* codec;
  CodecOptions options;
};

struct PeerSetUp {
  const PeerCodec* codec;
  unsigned block_size;  ///< 0: whole lists
};

/// Processor time of a pass over all lists, in seconds; medians over the repeats.
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
  double memcpy_seconds;  ///< to copy as many values, in blocks of 128, to one buffer
  std::vector<CodecFigures> figures;
  std::vector<PeerFigures> peers;
};

/// Warms up once, then measures all set-ups `repeats` times in turn, so that a slowdown of the machine affects all of
/// them. Blocks are decoded to one buffer, as in queries. Throws InvalidArgument without postings or repeats.
CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups,
                          const std::vector<PeerSetUp>& peers, unsigned repeats);

}  // namespace quern
