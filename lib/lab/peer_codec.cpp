#include "quern/lab/peer_codec.hpp"

#include "quern/lab/streamvbyte_shuffle.hpp"

#if defined(QUERN_HAS_STREAMVBYTE)
#include <streamvbyte.h>
#include <streamvbytedelta.h>
#endif

namespace quern {
namespace {

#if defined(QUERN_HAS_STREAMVBYTE)
/// StreamVByte (Lemire, Kurz, Rupp: Stream VByte: Faster Byte-Oriented Integer Compression, Information Processing
/// Letters 130, 2018): a control byte for four values of one to four bytes each. As built by Debian 12 its loops are
/// scalar: the package is for processors without SSSE3 too, and chooses nothing at run time.
class StreamVByte : public PeerCodec {
 public:
  std::string_view name() const override { return "streamvbyte"; }
  std::size_t max_bytes(std::size_t n) const override {
    return ::streamvbyte_max_compressedbytes(static_cast<std::uint32_t>(n));
  }
  std::size_t encode_docids(std::span<const docid_t> docids, docid_t before, std::uint8_t* out) const override {
    return ::streamvbyte_delta_encode(docids.data(), static_cast<std::uint32_t>(docids.size()), out, first(before));
  }
  std::size_t encode_freqs(std::span<const freq_t> freqs, std::uint8_t* out) const override {
    return ::streamvbyte_encode(freqs.data(), static_cast<std::uint32_t>(freqs.size()), out);
  }
  std::size_t decode_docids(const std::uint8_t* bytes, std::size_t n, docid_t before, docid_t* out) const override {
    return ::streamvbyte_delta_decode(bytes, out, static_cast<std::uint32_t>(n), first(before));
  }
  std::size_t decode_freqs(const std::uint8_t* bytes, std::size_t n, freq_t* out) const override {
    return ::streamvbyte_decode(bytes, out, static_cast<std::uint32_t>(n));
  }

 protected:
  /// Its differences start from 0, ours from -1.
  static docid_t first(docid_t before) { return before == end_docid ? 0 : before; }
};
#if defined(__AVX2__)
/// The same bytes, decoded by shuffles.
class ShuffledStreamVByte final : public StreamVByte {
 public:
  std::string_view name() const override { return "streamvbyte-simd"; }
  std::size_t decode_docids(const std::uint8_t* bytes, std::size_t n, docid_t before, docid_t* out) const override {
    return decode_streamvbyte_deltas(bytes, n, first(before), out);
  }
  std::size_t decode_freqs(const std::uint8_t* bytes, std::size_t n, freq_t* out) const override {
    return decode_streamvbyte(bytes, n, out);
  }
};
#endif
#endif

}  // namespace

#if defined(QUERN_HAS_STREAMVBYTE)
const std::vector<const PeerCodec*>& all_peers() {
  static const StreamVByte streamvbyte;
#if defined(__AVX2__)
  static const ShuffledStreamVByte shuffled;
  static const std::vector<const PeerCodec*> peers = {&streamvbyte, &shuffled};
#else
  static const std::vector<const PeerCodec*> peers = {&streamvbyte};
#endif
  return peers;
}

const std::vector<MissingPeer>& missing_peers() {
  static const std::vector<MissingPeer> none;
  return none;
}
#else
const std::vector<const PeerCodec*>& all_peers() {
  static const std::vector<const PeerCodec*> none;
  return none;
}

const std::vector<MissingPeer>& missing_peers() {
  static const std::vector<MissingPeer> missing = {{"streamvbyte", "libstreamvbyte-dev"}};
  return missing;
}
#endif

}  // namespace quern
