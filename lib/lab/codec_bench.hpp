#pragma once
#include "quern/codec/codec.hpp"
#include "quern/lab/list_profile.hpp"

/// Codecs of other libraries, for comparison. No index uses them.
namespace quern {

/// Codes runs of postings: a block, or a whole list. Its output contains neither the number of values nor its own
/// length. Decoders may read over_read_bytes past their input and write over_write_values past their output.
class PeerCodec {
 public:
  virtual ~PeerCodec() = default;
  virtual std::string_view name() const = 0;
  /// The maximum number of bytes for n values.
  virtual std::size_t max_bytes(std::size_t n) const = 0;
  /// Encodes ascending docIDs after `before`, which is end_docid for the first run. Returns the bytes written.
  virtual std::size_t encode_docids(std::span<const docid_t> docids, docid_t before, std::uint8_t* out) const = 0;
  virtual std::size_t encode_freqs(std::span<const freq_t> freqs, std::uint8_t* out) const = 0;
  /// Writes n values; returns the bytes read.
  virtual std::size_t decode_docids(const std::uint8_t* bytes, std::size_t n, docid_t before, docid_t* out) const = 0;
  virtual std::size_t decode_freqs(const std::uint8_t* bytes, std::size_t n, freq_t* out) const = 0;
};

/// The peers in this build; without libstreamvbyte-dev there are none.
const std::vector<const PeerCodec*>& all_peers();

// Measures the encoding and decoding speed of codecs on one core.

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
  std::string_view level;  ///< the SIMD level, or "own" for another library's choice
  double docid_seconds = 0, freq_seconds = 0;
};
struct CodecFigures {
  std::string_view codec;
  unsigned block_size = 0;            ///< 0: whole lists
  std::optional<unsigned> recursion;  ///< of Quern's codecs
  CodedBits bits;
  double encode_seconds = 0;
  std::vector<DecodingTimes> decoding;  ///< at each of simd_levels(); one of another library's codec
};
struct CodecBench {
  std::size_t lists = 0, postings = 0;
  double memcpy_seconds = 0;  ///< for copying as many values, in blocks of 128, to one buffer
  std::vector<CodecFigures> figures, peers;
};

/// Warms up once, then measures all set-ups `repeats` times in turn, so that a slowdown of the machine affects all of
/// them. Decodes blocks to one buffer, as queries do. Throws InvalidArgument without postings or repeats.
CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups,
                          const std::vector<PeerSetUp>& peers, unsigned repeats);

}  // namespace quern
