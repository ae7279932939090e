#include "quern/lab/peer_codec.hpp"

#if defined(QUERN_HAS_STREAMVBYTE)
#include <streamvbyte.h>
#include <streamvbytedelta.h>
#endif

namespace quern {
namespace {

#if defined(QUERN_HAS_STREAMVBYTE)
/// StreamVByte (Lemire, Kurz, Rupp: Stream VByte: Faster Byte-Oriented Integer Compression, Information Processing
/// Letters 130, 2018): a control byte for four values of one to four bytes each. Debian 12's build has scalar loops
/// only: the package also supports processors without SSSE3, and does not dispatch at run time.
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
  /// The library's differences start from 0, ours from -1.
  static docid_t first(docid_t before) { return before == end_docid ? 0 : before; }
};
#if defined(__AVX2__)
/// Decodes StreamVByte's bytes by shuffles.
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

#if defined(__AVX2__)
#include <immintrin.h>

#include <array>

namespace quern {
namespace {

/// The shuffle and the number of data bytes for each control byte.
struct Tables {
  alignas(16) std::array<std::array<std::uint8_t, 16>, 256> shuffles{};
  std::array<std::uint8_t, 256> sizes{};

  constexpr Tables() {
    for (unsigned control = 0; control < 256; ++control) {
      std::uint8_t next = 0;
      for (unsigned value = 0; value < 4; ++value) {
        const unsigned size = (control >> (2 * value) & 3) + 1;
        for (unsigned byte = 0; byte < 4; ++byte)
          shuffles[control][4 * value + byte] = byte < size ? next++ : std::uint8_t{0xff};  // 0xff yields a zero
      }
      sizes[control] = next;
    }
  }
};

constexpr Tables tables;

/// Calls take(four values, place) for each group; returns the bytes read, including those of an incomplete last group.
template <class Take>
std::size_t for_each_group(const std::uint8_t* bytes, std::size_t n, Take take) {
  const std::uint8_t* data = bytes + (n + 3) / 4;
  for (std::size_t at = 0; at < n; at += 4) {
    const unsigned control = bytes[at / 4];
    const __m128i coded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
    const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(tables.shuffles[control].data()));
    take(_mm_shuffle_epi8(coded, shuffle), at);
    data += tables.sizes[control];
  }
  // Missing values have control bits 0, which count as one byte each.
  return static_cast<std::size_t>(data - bytes) - (4 - n % 4) % 4;
}

}  // namespace

std::size_t decode_streamvbyte(const std::uint8_t* bytes, std::size_t n, std::uint32_t* out) {
  return for_each_group(bytes, n, [out](__m128i values, std::size_t at) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), values);
  });
}

std::size_t decode_streamvbyte_deltas(const std::uint8_t* bytes, std::size_t n, std::uint32_t before,
                                      std::uint32_t* out) {
  __m128i last = _mm_set1_epi32(static_cast<int>(before));
  return for_each_group(bytes, n, [out, &last](__m128i values, std::size_t at) {
    values = _mm_add_epi32(values, _mm_slli_si128(values, 4));
    values = _mm_add_epi32(values, _mm_slli_si128(values, 8));
    values = _mm_add_epi32(values, last);
    last = _mm_shuffle_epi32(values, 0xff);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), values);
  });
}

}  // namespace quern
#endif
