#pragma once
#include "quern/core/error.hpp"

/// The contract between codecs and their users: a posting list is coded as a list header followed by blocks of
/// block_size postings (the last one may be shorter), all in little-endian 32-bit words. A block holds docIDs and
/// frequencies and decodes from the list header, its own words and the largest docID of the previous block.
namespace quern {

using Words = std::vector<std::uint32_t>;
using WordView = std::span<const std::uint32_t>;

/// Decoders may read this many bytes past a list's words, and write this many values past the postings of a block: the
/// owner of the memory must provide that space (zeros after the words).
inline constexpr std::size_t over_read_bytes = 64;
inline constexpr std::size_t over_write_values = 32;
/// Blocks of fewer than 64 postings are for tests, where a few postings should make many blocks.
inline constexpr unsigned min_block_size = 2;
inline constexpr unsigned max_block_size = 512;

struct CodecOptions {
  /// Postings per block: a power of two from min_block_size to max_block_size.
  unsigned block_size = 128;
  /// rpfd only: how many times the exceptions' arrays are compressed in turn, 0 to 4.
  unsigned recursion = 1;

  bool operator==(const CodecOptions&) const = default;
};

/// The size of a list's postings, headers included.
struct CodedBits {
  std::uint64_t docid_bits = 0;
  std::uint64_t freq_bits = 0;
};

/// Codes posting lists block by block, so that a list need not fit in memory. An encoder that needs statistics takes
/// two passes over a list's blocks: observe() for each, put_header(), then put_block() for each. Other encoders don't
/// need observe(). Values of a block: gaps[i] = docid[i] - docid[i-1] - 1 (the list's first gap is its first docID, as
/// if docID -1 came before), freqs[i] = frequency - 1. All blocks but the last have block_size values.
class ListEncoder {
 public:
  virtual ~ListEncoder() = default;
  /// Starts a new list.
  virtual void start_list() = 0;
  /// Whether blocks must be observed before the header can be written.
  virtual bool needs_statistics() const { return false; }
  /// First pass: each block, in order.
  virtual void observe(std::span<const std::uint32_t> /*gaps*/, std::span<const std::uint32_t> /*freqs*/) {}
  /// Ends the first pass: chooses the list's parameters and appends the list header.
  virtual void put_header(Words& /*out*/) {}
  /// Second pass: appends each block, in order; values must be those observed.
  virtual void put_block(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs, Words& out) = 0;
  /// The size of the list so far, list header included.
  virtual CodedBits bits() const = 0;
};

/// Checks the block sequence of an encoder's caller: full blocks, then at most one shorter, with the same number of
/// postings in both passes. Use one object per pass.
class BlockOrder {
 public:
  explicit BlockOrder(unsigned block_size) : block_size_(block_size) {}

  void restart() {
    postings_ = 0;
    ended_ = false;
  }

  /// Throws InvalidArgument for a block of the wrong size.
  void accept(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs) {
    if (gaps.size() != freqs.size() || gaps.empty() || gaps.size() > block_size_)
      throw InvalidArgument("a block must have 1 to block_size gaps and the same number of frequencies");
    if (ended_) throw InvalidArgument("only the last block of a list may be shorter than the block size");
    ended_ = gaps.size() < block_size_;
    postings_ += gaps.size();
  }

  std::uint64_t postings() const { return postings_; }

 private:
  unsigned block_size_;
  std::uint64_t postings_ = 0;
  bool ended_ = false;
};

/// If all gaps of a block are below this, the sum of gap + 1 over its postings is below 2^32: its docIDs overflow at
/// most once.
inline constexpr std::uint64_t small_gap_limit = std::uint64_t{1} << 22;
static_assert(small_gap_limit * max_block_size < std::uint64_t{1} << 32);

/// Decodes blocks of one list. Words are untrusted: a block with a part beyond `block` throws CorruptFile when that
/// part is decoded; other damage gives wrong values within the bounds of the output. Holds only views of the list's
/// words, which must not change, and remembers the block it read last: for one thread at a time.
class ListDecoder {
 public:
  virtual ~ListDecoder() = default;
  /// Writes the n docIDs of a block, n in 1 to block_size. `before` is the largest docID of the previous block, or
  /// 0xffffffff (-1) for the first. `block` starts at the block's first word and ends at the end of the list or of the
  /// block. Returns whether all gaps are known to be below small_gap_limit. If so, a first block always ascends, and
  /// any other if its last docID exceeds `before`.
  virtual bool decode_docids(WordView block, unsigned n, docid_t before, docid_t* out) const = 0;
  /// The size in words of a block of n postings, frequencies included; all of them lie within `block`.
  virtual std::size_t block_words(WordView block, unsigned n) const = 0;
  /// Writes the n frequencies of a block (at least 1 each).
  virtual void decode_freqs(WordView block, unsigned n, freq_t* out) const = 0;
  /// The frequency of posting i < n of a block; codecs with fixed slots decode only this one.
  virtual freq_t freq_at(WordView block, unsigned n, unsigned i) const = 0;
};

/// A way of coding posting lists.
struct Codec {
  std::string_view name;
  std::string_view description;  ///< one line for help texts
  std::unique_ptr<ListEncoder> (*make_encoder)(const CodecOptions& options);
  /// Reads the list header at the front of `list`. Throws CorruptFile if it is not one.
  std::unique_ptr<ListDecoder> (*make_decoder)(const CodecOptions& options, WordView list);
  /// Words of the list header; the first block follows it.
  std::size_t (*header_words)(const CodecOptions& options);
};

/// All codecs, in the order of help texts; the first is the default. To add a codec, extend this list.
const std::vector<const Codec*>& all_codecs();

/// Throws InvalidArgument, with all names, for an unknown name.
const Codec& codec_named(std::string_view name);

/// Throws InvalidArgument unless block size and recursion are valid.
void check_codec_options(const CodecOptions& options);

// The codecs with their encoders and decoders.

/// Patched frame of reference with masks: each block has its own slot widths, as in NewPFD. Slots hold the low bits of
/// all values; a mask marks the exceptions, and their high parts are coded in the same way, up to three times.
/// Layout: formats/codec/maskpfd.md.
extern const Codec maskpfd_codec;

/// NewPFD (Yan, Ding, Suel: Inverted Index Compression and Query Processing with Optimized Document Ordering, WWW
/// 2009), as Huang et al. use it for their block-max index: each block has its own slot widths; Simple16 codes the
/// positions and high parts of the exceptions. Layout: formats/codec/newpfd.md.
extern const Codec newpfd_codec;

/// Recursive PForDelta (Ding et al., section 6.2): one slot width for the whole list. The exceptions' high parts and
/// position gaps are arrays coded in the same way, CodecOptions::recursion times. Position gaps restart in each block,
/// so that a block decodes on its own. Layout: formats/codec/rpfd.md.
extern const Codec rpfd_codec;

/// Rice coding (Ding et al., section 6.1): unary quotients and binary remainders in separate parts, so that two prefix
/// sums give the docIDs. One remainder width for the whole list. Layout: formats/codec/rice.md.
extern const Codec rice_codec;

namespace maskpfd {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
std::unique_ptr<ListDecoder> make_decoder();
}  // namespace maskpfd

namespace newpfd {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
std::unique_ptr<ListDecoder> make_decoder();
}  // namespace newpfd

namespace rpfd {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
std::unique_ptr<ListDecoder> make_decoder(const CodecOptions& options, WordView list);
}  // namespace rpfd

namespace rice {
std::unique_ptr<ListEncoder> make_encoder(const CodecOptions& options);
std::unique_ptr<ListDecoder> make_decoder(WordView list);
}  // namespace rice

}  // namespace quern
