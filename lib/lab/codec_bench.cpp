#include "quern/lab/codec_bench.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "quern/core/error.hpp"
#include "quern/lab/environment.hpp"

namespace quern {
namespace {

/// The lower bound of decoding times: memcpy of blocks of values to one buffer.
void copy_blocks(const BenchLists& lists) {
  constexpr std::size_t block_size = 128;
  alignas(64) std::array<std::uint32_t, block_size> out;
  for (std::size_t at = 0; at < lists.size(); at += block_size) {
    std::memcpy(out.data(), lists.gaps.data() + at, std::min(block_size, lists.size() - at) * sizeof out[0]);
    keep(out.data());
  }
}

}  // namespace

CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups,
                          const std::vector<PeerSetUp>& peers, unsigned repeats) {
  if (lists.size() == 0 || repeats == 0) throw InvalidArgument("a benchmark needs postings and repeats");
  std::vector<CodecSubject> ours;
  for (const CodecSetUp& set_up : set_ups) ours.emplace_back(lists, set_up);
  std::vector<PeerSubject> others;
  for (const PeerSetUp& set_up : peers) others.emplace_back(lists, set_up);
  const auto for_each_subject = [&](auto visit) {
    for (CodecSubject& subject : ours) visit(subject);
    for (PeerSubject& subject : others) visit(subject);
  };
  for_each_subject([](auto& subject) {
    subject.measure();
    subject.forget_times();
  });
  std::vector<double> copying;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    copy_blocks(lists);  // warms the caches, as for coded words
    copying.push_back(seconds_of([&] { copy_blocks(lists); }));
    for_each_subject([](auto& subject) { subject.measure(); });
  }
  CodecBench bench{lists.ends.size(), lists.size(), median(copying), {}, {}};
  for (const CodecSubject& subject : ours) bench.figures.push_back(subject.figures());
  for (const PeerSubject& subject : others) bench.peers.push_back(subject.figures());
  return bench;
}

namespace {

/// The destination of decoded blocks.
using Buffer = std::array<std::uint32_t, max_block_size + over_write_values>;

std::span<const std::uint32_t> part(const std::vector<std::uint32_t>& values, std::size_t at, unsigned n) {
  return std::span(values).subspan(at, n);
}

}  // namespace

CodecSubject::CodecSubject(const BenchLists& lists, const CodecSetUp& set_up) : lists_(lists) {
  figures_.set_up = set_up;
  encode();
  words_.resize(words_.size() + over_read_bytes / 4);
}

void CodecSubject::measure() {
  const Words kept = std::move(words_);
  words_.clear();
  words_.reserve(kept.size());
  encode_.push_back(seconds_of([&] { encode(); }));
  words_.resize(kept.size());
  const SimdLevel before = simd_level();
  for (std::size_t i = 0; i < simd_levels().size(); ++i) {
    set_simd_level(simd_levels()[i]);
    docids_[i].push_back(seconds_of([&] { decode_docids(); }));
    freqs_[i].push_back(seconds_of([&] { decode_freqs(); }));
  }
  set_simd_level(before);
}

void CodecSubject::forget_times() {
  encode_.clear();
  for (auto* times : {&docids_, &freqs_})
    for (std::vector<double>& of_level : *times) of_level.clear();
}

CodecFigures CodecSubject::figures() const {
  CodecFigures figures = figures_;
  figures.encode_seconds = median(encode_);
  for (std::size_t i = 0; i < simd_levels().size(); ++i)
    figures.decoding.push_back({simd_levels()[i], {median(docids_[i]), median(freqs_[i])}});
  return figures;
}

void CodecSubject::encode() {
  figures_.bits = {};
  blocks_.clear();
  coded_.clear();
  const auto encoder = figures_.set_up.codec->make_encoder(figures_.set_up.options);
  std::size_t first = 0;
  for (const std::size_t end : lists_.ends) {
    encode_list(*encoder, first, end);
    first = end;
  }
}

void CodecSubject::encode_list(ListEncoder& encoder, std::size_t first, std::size_t end) {
  const unsigned block_size = figures_.set_up.options.block_size;
  const auto for_blocks = [&](auto visit) {
    for (std::size_t at = first; at < end; at += block_size)
      visit(at, static_cast<unsigned>(std::min<std::size_t>(block_size, end - at)));
  };
  encoder.start_list();
  for_blocks([&](std::size_t at, unsigned n) { encoder.observe(part(lists_.gaps, at, n), part(lists_.freqs, at, n)); });
  List list{words_.size(), blocks_.size(), 0};
  encoder.put_header(words_);
  docid_t docid = end_docid;
  for_blocks([&](std::size_t at, unsigned n) {
    blocks_.push_back({words_.size(), n, docid});
    const auto gaps = part(lists_.gaps, at, n);
    encoder.put_block(gaps, part(lists_.freqs, at, n), words_);
    for (const std::uint32_t gap : gaps) docid += gap + 1;
  });
  list.end_block = blocks_.size();
  coded_.push_back(list);
  figures_.bits.docid_bits += encoder.bits().docid_bits;
  figures_.bits.freq_bits += encoder.bits().freq_bits;
}

template <class Decode>
void CodecSubject::for_each_coded_block(Decode decode) const {
  const WordView words = WordView(words_).first(words_.size() - over_read_bytes / 4);
  for (const List& list : coded_) {
    const auto decoder = figures_.set_up.codec->make_decoder(figures_.set_up.options, words.subspan(list.word));
    for (std::size_t i = list.first_block; i < list.end_block; ++i)
      decode(*decoder, words.subspan(blocks_[i].word), blocks_[i]);
  }
}

void CodecSubject::decode_docids() const {
  alignas(64) Buffer out;
  for_each_coded_block([&](const ListDecoder& decoder, WordView words, const Block& block) {
    decoder.decode_docids(words, block.n, block.before, out.data());
    keep(out.data());
  });
}

void CodecSubject::decode_freqs() const {
  alignas(64) Buffer out;
  for_each_coded_block([&](const ListDecoder& decoder, WordView words, const Block& block) {
    decoder.decode_freqs(words, block.n, out.data());
    keep(out.data());
  });
}

PeerSubject::PeerSubject(const BenchLists& lists, const PeerSetUp& set_up) {
  figures_.set_up = set_up;
  docids_.reserve(lists.size());
  std::size_t longest_run = 0, room = over_read_bytes;
  for (const std::size_t end : lists.ends) {
    docid_t docid = end_docid;
    std::size_t first = docids_.size();
    while (first < end) {
      const std::size_t size =
          set_up.block_size == 0 ? end - first : std::min<std::size_t>(set_up.block_size, end - first);
      runs_.push_back({first, size, docid});
      for (std::size_t i = first; i < first + size; ++i) {
        docids_.push_back(docid += lists.gaps[i] + 1);
        freqs_.push_back(lists.freqs[i] + 1);
      }
      longest_run = std::max(longest_run, size);
      room += set_up.codec->max_bytes(size);
      first += size;
    }
  }
  docid_bytes_.resize(room);
  freq_bytes_.resize(room);
  out_.resize(longest_run + over_write_values);
}

void PeerSubject::measure() {
  encode_times_.push_back(seconds_of([&] { encode(); }));
  docid_times_.push_back(seconds_of([&] { decode_docids(); }));
  freq_times_.push_back(seconds_of([&] { decode_freqs(); }));
}

void PeerSubject::forget_times() {
  for (auto* times : {&encode_times_, &docid_times_, &freq_times_}) times->clear();
}

PeerFigures PeerSubject::figures() const {
  PeerFigures figures = figures_;
  figures.encode_seconds = median(encode_times_);
  figures.decoding = {median(docid_times_), median(freq_times_)};
  return figures;
}

void PeerSubject::encode() {
  std::size_t docid_byte = 0, freq_byte = 0;
  const PeerCodec& codec = *figures_.set_up.codec;
  for (Run& run : runs_) {
    run.docid_byte = docid_byte;
    run.freq_byte = freq_byte;
    docid_byte += codec.encode_docids(std::span(docids_).subspan(run.first, run.size), run.before,
                                      docid_bytes_.data() + docid_byte);
    freq_byte += codec.encode_freqs(std::span(freqs_).subspan(run.first, run.size), freq_bytes_.data() + freq_byte);
  }
  figures_.bits = {8 * docid_byte, 8 * freq_byte};
}

void PeerSubject::decode_docids() {
  for (const Run& run : runs_) {
    figures_.set_up.codec->decode_docids(docid_bytes_.data() + run.docid_byte, run.size, run.before, out_.data());
    keep(out_.data());
  }
}

void PeerSubject::decode_freqs() {
  for (const Run& run : runs_) {
    figures_.set_up.codec->decode_freqs(freq_bytes_.data() + run.freq_byte, run.size, out_.data());
    keep(out_.data());
  }
}

}  // namespace quern

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
