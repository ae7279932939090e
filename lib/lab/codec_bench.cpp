#include "quern/lab/codec_bench.hpp"

#include <cstring>

#include "quern/codec/kernels.hpp"
#include "quern/lab/measuring.hpp"

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

/// All lists, coded in one way, and its times.
class CodingSubject {
 public:
  virtual ~CodingSubject() = default;

  /// Measures one pass of each kind; a warm-up leaves no times.
  void measure(bool is_warm_up) {
    const double encoding = encoding_seconds();
    if (!is_warm_up) encoding_.push_back(encoding);
    const SimdLevel before = simd_level();
    for (Level& level : levels_) {
      if (level.simd) set_simd_level(*level.simd);
      const double docids = seconds_of([&] { decode_docids(); }), freqs = seconds_of([&] { decode_freqs(); });
      if (is_warm_up) continue;
      level.docids.push_back(docids);
      level.freqs.push_back(freqs);
    }
    set_simd_level(before);
  }

  CodecFigures figures() const {
    CodecFigures figures = figures_;
    figures.encode_seconds = median(encoding_);
    for (const Level& level : levels_)
      figures.decoding.push_back(
          {level.simd ? name_of(*level.simd) : "own", median(level.docids), median(level.freqs)});
    return figures;
  }

 protected:
  /// Decoding by Quern's kernels of a level, or by another library.
  struct Level {
    std::optional<SimdLevel> simd;
    std::vector<double> docids = {}, freqs = {};
  };

  virtual double encoding_seconds() = 0;
  virtual void decode_docids() = 0;
  virtual void decode_freqs() = 0;

  CodecFigures figures_;
  std::vector<Level> levels_;

 private:
  std::vector<double> encoding_;
};

/// Decoded blocks go here.
using Buffer = std::array<std::uint32_t, max_block_size + over_write_values>;

/// Lists coded by one of Quern's codecs, with the offsets of their blocks, as in an index.
class OwnSubject final : public CodingSubject {
 public:
  OwnSubject(const BenchLists& lists, const CodecSetUp& set_up) : lists_(lists), set_up_(set_up) {
    figures_.codec = set_up.codec->name;
    figures_.block_size = set_up.options.block_size;
    figures_.recursion = set_up.options.recursion;
    for (const SimdLevel level : simd_levels()) levels_.push_back({level});
    encode();
    words_.resize(words_.size() + over_read_bytes / 4);
  }

 private:
  struct Block {
    std::size_t word;
    unsigned n;
    docid_t before;
  };
  struct List {
    std::size_t word, first_block, end_block;
  };

  double encoding_seconds() override {
    const Words kept = std::move(words_);
    words_.clear();
    words_.reserve(kept.size());
    const double seconds = seconds_of([&] { encode(); });
    words_.resize(kept.size());
    return seconds;
  }

  void encode() {
    figures_.bits = {};
    blocks_.clear();
    coded_.clear();
    const auto encoder = set_up_.codec->make_encoder(set_up_.options);
    std::size_t first = 0;
    for (const std::size_t end : lists_.ends) {
      encode_list(*encoder, first, end);
      first = end;
    }
  }

  void encode_list(ListEncoder& encoder, std::size_t first, std::size_t end) {
    const unsigned block_size = set_up_.options.block_size;
    const auto for_blocks = [&](auto visit) {
      for (std::size_t at = first; at < end; at += block_size) {
        const auto n = static_cast<unsigned>(std::min<std::size_t>(block_size, end - at));
        visit(std::span(lists_.gaps).subspan(at, n), std::span(lists_.freqs).subspan(at, n));
      }
    };
    encoder.start_list();
    for_blocks([&](auto gaps, auto freqs) { encoder.observe(gaps, freqs); });
    List list{words_.size(), blocks_.size(), 0};
    encoder.put_header(words_);
    docid_t docid = end_docid;
    for_blocks([&](auto gaps, auto freqs) {
      blocks_.push_back({words_.size(), static_cast<unsigned>(gaps.size()), docid});
      encoder.put_block(gaps, freqs, words_);
      for (const std::uint32_t gap : gaps) docid += gap + 1;
    });
    list.end_block = blocks_.size();
    coded_.push_back(list);
    figures_.bits.docid_bits += encoder.bits().docid_bits;
    figures_.bits.freq_bits += encoder.bits().freq_bits;
  }

  template <class Decode>
  void for_each_coded_block(Decode decode) const {
    alignas(64) Buffer out;
    const WordView words = WordView(words_).first(words_.size() - over_read_bytes / 4);
    for (const List& list : coded_) {
      const auto decoder = set_up_.codec->make_decoder(set_up_.options, words.subspan(list.word));
      for (std::size_t i = list.first_block; i < list.end_block; ++i) {
        decode(*decoder, words.subspan(blocks_[i].word), blocks_[i], out.data());
        keep(out.data());
      }
    }
  }

  void decode_docids() override {
    for_each_coded_block([](const ListDecoder& decoder, WordView words, const Block& block, std::uint32_t* out) {
      decoder.decode_docids(words, block.n, block.before, out);
    });
  }
  void decode_freqs() override {
    for_each_coded_block([](const ListDecoder& decoder, WordView words, const Block& block, std::uint32_t* out) {
      decoder.decode_freqs(words, block.n, out);
    });
  }

  const BenchLists& lists_;
  const CodecSetUp set_up_;
  Words words_;
  std::vector<Block> blocks_;
  std::vector<List> coded_;
};

/// Lists coded by another library's codec, in blocks or as whole lists.
class PeerSubject final : public CodingSubject {
 public:
  PeerSubject(const BenchLists& lists, const PeerSetUp& set_up) : codec_(*set_up.codec) {
    figures_.codec = codec_.name();
    figures_.block_size = set_up.block_size;
    levels_.resize(1);
    std::size_t longest = 0, room = over_read_bytes;
    for (const std::size_t end : lists.ends) {
      docid_t docid = end_docid;
      while (docids_.size() < end) {
        const std::size_t first = docids_.size(), left = end - first;
        const std::size_t size = set_up.block_size == 0 ? left : std::min<std::size_t>(set_up.block_size, left);
        blocks_.push_back({first, size, docid});
        for (std::size_t i = first; i < first + size; ++i) {
          docids_.push_back(docid += lists.gaps[i] + 1);
          freqs_.push_back(lists.freqs[i] + 1);
        }
        longest = std::max(longest, size);
        room += codec_.max_bytes(size);
      }
    }
    docid_bytes_.resize(room);
    freq_bytes_.resize(room);
    out_.resize(longest + over_write_values);
  }

 private:
  struct Block {
    std::size_t first, size;  ///< postings
    docid_t before;
    std::size_t docid_byte = 0, freq_byte = 0;
  };

  double encoding_seconds() override {
    return seconds_of([&] { encode(); });
  }
  void encode() {
    std::size_t docid_byte = 0, freq_byte = 0;
    for (Block& block : blocks_) {
      block.docid_byte = docid_byte;
      block.freq_byte = freq_byte;
      docid_byte += codec_.encode_docids(std::span(docids_).subspan(block.first, block.size), block.before,
                                         docid_bytes_.data() + docid_byte);
      freq_byte +=
          codec_.encode_freqs(std::span(freqs_).subspan(block.first, block.size), freq_bytes_.data() + freq_byte);
    }
    figures_.bits = {8 * docid_byte, 8 * freq_byte};
  }
  void decode_docids() override {
    for (const Block& block : blocks_) {
      codec_.decode_docids(docid_bytes_.data() + block.docid_byte, block.size, block.before, out_.data());
      keep(out_.data());
    }
  }
  void decode_freqs() override {
    for (const Block& block : blocks_) {
      codec_.decode_freqs(freq_bytes_.data() + block.freq_byte, block.size, out_.data());
      keep(out_.data());
    }
  }

  const PeerCodec& codec_;
  std::vector<docid_t> docids_;  ///< of all lists: the input of these codecs
  std::vector<freq_t> freqs_;
  std::vector<Block> blocks_;
  Bytes docid_bytes_, freq_bytes_;
  std::vector<std::uint32_t> out_;
};

}  // namespace

CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups,
                          const std::vector<PeerSetUp>& peers, unsigned repeats) {
  if (lists.size() == 0 || repeats == 0) throw InvalidArgument("a benchmark needs postings and repeats");
  std::vector<std::unique_ptr<CodingSubject>> subjects;
  for (const CodecSetUp& set_up : set_ups) subjects.push_back(std::make_unique<OwnSubject>(lists, set_up));
  for (const PeerSetUp& set_up : peers) subjects.push_back(std::make_unique<PeerSubject>(lists, set_up));
  for (const auto& subject : subjects) subject->measure(true);
  std::vector<double> copying;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    copy_blocks(lists);  // warms the caches, as for coded words
    copying.push_back(seconds_of([&] { copy_blocks(lists); }));
    for (const auto& subject : subjects) subject->measure(false);
  }
  CodecBench bench{lists.ends.size(), lists.size(), median(copying), {}, {}};
  for (std::size_t i = 0; i < subjects.size(); ++i)
    (i < set_ups.size() ? bench.figures : bench.peers).push_back(subjects[i]->figures());
  return bench;
}

}  // namespace quern

#if defined(QUERN_HAS_STREAMVBYTE)
#include <streamvbyte.h>
#include <streamvbytedelta.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {
namespace {

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
/// The shuffle and the number of data bytes for each control byte.
struct Shuffles {
  alignas(16) std::array<std::array<std::uint8_t, 16>, 256> shuffles{};
  std::array<std::uint8_t, 256> sizes{};

  constexpr Shuffles() {
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
constexpr Shuffles tables;

/// Decodes the library's bytes, four values per byte shuffle, as in its paper (section 3): a comparison with Debian's
/// build alone would be unfair. May read 16 bytes past its input and write 3 values past the n. Trusts its input.
class ShuffledStreamVByte final : public StreamVByte {
 public:
  std::string_view name() const override { return "streamvbyte-simd"; }
  std::size_t decode_docids(const std::uint8_t* bytes, std::size_t n, docid_t before, docid_t* out) const override {
    __m128i last = _mm_set1_epi32(static_cast<int>(first(before)));
    return for_each_group(bytes, n, [out, &last](__m128i values, std::size_t at) {
      values = _mm_add_epi32(values, _mm_slli_si128(values, 4));
      values = _mm_add_epi32(values, _mm_slli_si128(values, 8));
      values = _mm_add_epi32(values, last);
      last = _mm_shuffle_epi32(values, 0xff);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), values);
    });
  }
  std::size_t decode_freqs(const std::uint8_t* bytes, std::size_t n, freq_t* out) const override {
    return for_each_group(bytes, n, [out](__m128i values, std::size_t at) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), values);
    });
  }

 private:
  /// Calls take(four values, place) for each group; returns the bytes read, including those of an incomplete last
  /// group.
  template <class Take>
  static std::size_t for_each_group(const std::uint8_t* bytes, std::size_t n, Take take) {
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
};
#endif

}  // namespace

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

}  // namespace quern
#else
namespace quern {

const std::vector<const PeerCodec*>& all_peers() {
  static const std::vector<const PeerCodec*> none;
  return none;
}

}  // namespace quern
#endif
