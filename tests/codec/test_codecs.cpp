#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"
#include "sanitized.hpp"

/// The requirements on every codec, whatever its layout.
namespace quern {
namespace {

using test::CodedList;
using test::List;
using test::Random;

constexpr std::uint32_t canary = 0xdeadbeef;

/// Zeros past the words, as decoders require, and canaries past the values.
struct Decoding {
  Decoding(const Codec& codec, const CodecOptions& options, const CodedList& coded)
      : padded(coded.words), values(options.block_size + over_write_values + 8) {
    padded.resize(coded.words.size() + over_read_bytes / 4);
    list = WordView(padded.data(), coded.words.size());
    decoder = codec.make_decoder(options, list);
  }

  /// Fills the values with canaries.
  std::uint32_t* clear() {
    std::fill(values.begin(), values.end(), canary);
    return values.data();
  }

  bool wrote_within_bounds(unsigned n) const {
    return std::all_of(values.begin() + n + over_write_values, values.end(),
                       [](std::uint32_t value) { return value == canary; });
  }

  Words padded;
  WordView list;
  std::vector<std::uint32_t> values;
  std::unique_ptr<ListDecoder> decoder;
};

/// Empty if block `index` of the list decodes to its values, otherwise a description of the difference.
std::string block_fault(Decoding& decoding, const CodedList& coded, std::size_t index, const List& list,
                        unsigned block_size, docid_t& before) {
  const std::size_t first = index * block_size;
  const auto n = static_cast<unsigned>(std::min<std::size_t>(block_size, list.size() - first));
  const WordView rest = decoding.list.subspan(coded.starts[index]);
  const WordView alone = rest.first(coded.starts[index + 1] - coded.starts[index]);
  const std::uint32_t* const values = decoding.clear();

  if (decoding.decoder->block_words(rest, n) != alone.size()) return "words of the block";
  if (decoding.decoder->block_words(alone, n) != alone.size()) return "words of the block alone";
  const bool small_gaps = decoding.decoder->decode_docids(alone, n, before, decoding.clear());
  for (unsigned i = 0; i < n; ++i)
    if (small_gaps && list.gaps[first + i] >= small_gap_limit) return "gap that is said to be small";
  for (unsigned i = 0; i < n; ++i)
    if ((before += list.gaps[first + i] + 1) != values[i]) return "docID " + std::to_string(i);
  if (!decoding.wrote_within_bounds(n)) return "writes past the docIDs";

  decoding.decoder->decode_freqs(alone, n, decoding.clear());
  for (unsigned i = 0; i < n; ++i) {
    if (list.freqs[first + i] + 1 != values[i]) return "frequency " + std::to_string(i);
    if (decoding.decoder->freq_at(alone, n, i) != values[i]) return "single frequency " + std::to_string(i);
  }
  return decoding.wrote_within_bounds(n) ? "" : "writes past the frequencies";
}

/// Empty if the whole list decodes to its values, otherwise a description of the difference.
std::string round_trip_fault(const Codec& codec, const CodecOptions& options, const List& list) {
  const auto encoder = codec.make_encoder(options);
  const CodedList coded = test::encode(*encoder, list, options.block_size);
  if (coded.bits.docid_bits + coded.bits.freq_bits != 32 * coded.words.size()) return "bits";
  if (coded.starts.front() != codec.header_words(options)) return "header words";
  const SimdLevel best = simd_level();
  std::string fault;
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    Decoding decoding(codec, options, coded);
    docid_t before = end_docid;
    for (std::size_t i = 0; i + 1 < coded.starts.size() && fault.empty(); ++i) {
      fault = block_fault(decoding, coded, i, list, options.block_size, before);
      if (!fault.empty()) fault += " of block " + std::to_string(i) + ", " + std::string(name_of(level));
    }
  }
  set_simd_level(best);
  return fault;
}

/// Each codec with the options that matter to it.
std::vector<std::pair<const Codec*, CodecOptions>> all_set_ups() {
  std::vector<std::pair<const Codec*, CodecOptions>> set_ups;
  for (const Codec* codec : all_codecs())
    for (unsigned block_size : {2u, 8u, 64u, 128u, 256u, 512u})
      for (unsigned recursion = 0; recursion <= (codec->name == "rpfd" ? 4u : 0u); ++recursion)
        set_ups.push_back({codec, {block_size, recursion}});
  return set_ups;
}

std::string name_of(const Codec& codec, const CodecOptions& options) {
  return std::string(codec.name) + ", blocks of " + std::to_string(options.block_size) + ", recursion " +
         std::to_string(options.recursion);
}

}  // namespace

TEST_CASE("every codec decodes lists of every length", "[codec][property]") {
  Random random(1);
  for (const auto& [codec, options] : all_set_ups()) {
    INFO(name_of(*codec, options));
    for (unsigned n = 1; n <= options.block_size + 2; ++n) {
      List list = test::clustered_list(random, n, 1 + static_cast<double>(random() % 1000));
      INFO(n << " postings");
      REQUIRE(round_trip_fault(*codec, options, list) == "");
    }
  }
}

TEST_CASE("most codecs know that common gaps are small", "[codec]") {
  Random random(3);
  const CodecOptions options{128, 0};
  const List regular{std::vector<std::uint32_t>(128, 7), std::vector<std::uint32_t>(128, 1)};
  const List clustered = test::clustered_list(random, 128, 20);
  // newpfd doesn't look at exceptions, which clustered documents have.
  const std::vector<std::pair<const Codec*, const List*>> known = {{&maskpfd_codec, &regular},
                                                                   {&newpfd_codec, &regular},
                                                                   {&rice_codec, &regular},
                                                                   {&maskpfd_codec, &clustered},
                                                                   {&rice_codec, &clustered}};
  for (const auto& [codec, list] : known) {
    INFO(codec->name);
    const auto encoder = codec->make_encoder(options);
    const CodedList coded = test::encode(*encoder, *list, options.block_size);
    Decoding decoding(*codec, options, coded);
    const WordView block = decoding.list.subspan(coded.starts[0]);
    CHECK(decoding.decoder->decode_docids(block, 128, end_docid, decoding.clear()));
  }
}

TEST_CASE("every codec decodes values of every bit width", "[codec][property]") {
  Random random(2);
  for (const auto& [codec, options] : all_set_ups()) {
    INFO(name_of(*codec, options));
    for (unsigned width = 0; width <= 32; ++width) {
      const std::size_t n = 1 + random() % (2 * options.block_size);
      const List list{test::random_values(random, n, width), test::random_values(random, n, 32 - width)};
      INFO(n << " postings of gaps of " << width << " bits");
      REQUIRE(round_trip_fault(*codec, options, list) == "");
    }
  }
}

TEST_CASE("every codec decodes outliers of every width at any position", "[codec][property]") {
  Random random(3);
  for (const auto& [codec, options] : all_set_ups()) {
    INFO(name_of(*codec, options));
    for (unsigned trial = 0; trial < 120; ++trial) {
      const auto width = static_cast<unsigned>(random() % 20), outlier_width = 1 + trial % 32;
      const auto outliers = static_cast<unsigned>(random() % 400);
      const std::size_t n = 1 + random() % (3 * options.block_size);
      const List list{test::random_values(random, n, width, outlier_width, outliers),
                      test::random_values(random, n, width / 4, outlier_width, outliers / 2)};
      INFO(n << " postings of " << width << " bits, outliers of " << outlier_width);
      REQUIRE(round_trip_fault(*codec, options, list) == "");
    }
  }
}

TEST_CASE("every codec decodes one outlier at each position of a block", "[codec][property]") {
  for (const auto& [codec, options] : all_set_ups()) {
    INFO(name_of(*codec, options));
    for (unsigned at = 0; at < options.block_size; at += testing::sanitized ? 5 : 1) {
      List list{std::vector<std::uint32_t>(options.block_size), std::vector<std::uint32_t>(options.block_size)};
      list.gaps[at] = 0xffffffff;
      list.freqs[options.block_size - 1 - at] = 0xfffffffe;
      INFO("place " << at);
      REQUIRE(round_trip_fault(*codec, options, list) == "");
    }
  }
}

TEST_CASE("every codec decodes the largest values", "[codec]") {
  for (const auto& [codec, options] : all_set_ups()) {
    INFO(name_of(*codec, options));
    for (std::uint32_t value : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu})
      for (std::size_t n : {1u, 2u, 63u, 512u, 700u}) {
        INFO(n << " times " << value);
        const List list{std::vector(n, value), std::vector(n, value)};
        REQUIRE(round_trip_fault(*codec, options, list) == "");
      }
  }
}

TEST_CASE("every codec decodes blocks in which half of the values are exceptions", "[codec]") {
  for (const auto& [codec, options] : all_set_ups()) {
    INFO(name_of(*codec, options));
    for (unsigned width : {1u, 5u, 13u, 27u, 28u, 29u, 31u, 32u}) {
      List list;
      for (unsigned i = 0; i < 3 * options.block_size; ++i) {
        list.gaps.push_back(i % 2 == 0 ? 0 : 0xffffffff >> (32 - width));
        list.freqs.push_back(i % 4 == 0 ? 0 : 1u << (width - 1));
      }
      INFO("width " << width);
      REQUIRE(round_trip_fault(*codec, options, list) == "");
    }
  }
}

TEST_CASE("every codec codes long lists, deterministically", "[codec][property]") {
  Random random(4);
  for (const auto& [codec, options] : all_set_ups()) {
    INFO(name_of(*codec, options));
    const List list = test::clustered_list(random, 20000, 40);
    REQUIRE(round_trip_fault(*codec, options, list) == "");
    const auto encoder = codec->make_encoder(options);
    const Words first = test::encode(*encoder, list, options.block_size).words;
    test::encode(*encoder, test::clustered_list(random, 100, 3), options.block_size);
    CHECK(test::encode(*encoder, list, options.block_size).words == first);
  }
}

TEST_CASE("a truncated list is refused", "[codec][property]") {
  Random random(5);
  for (const auto& [codec, options] : all_set_ups()) {
    INFO(name_of(*codec, options));
    for (std::size_t n : {1u, 17u, 64u, options.block_size}) {
      if (n > options.block_size) continue;
      const List list{test::random_values(random, n, 3, 30, 100), test::random_values(random, n, 1, 20, 100)};
      const auto encoder = codec->make_encoder(options);
      const CodedList coded = test::encode(*encoder, list, options.block_size);
      const std::size_t header = codec->header_words(options);
      for (std::size_t cut = 0; cut < header; ++cut)
        CHECK_THROWS_AS(codec->make_decoder(options, WordView(coded.words).first(cut)), CorruptFile);
      Decoding decoding(*codec, options, coded);
      for (std::size_t cut = header; cut < coded.words.size(); ++cut) {
        INFO(n << " postings, cut at word " << cut << " of " << coded.words.size());
        // The words after the cut are still there to be misread.
        const WordView block = decoding.list.subspan(header, cut - header);
        const auto decode = [&] {
          decoding.decoder->decode_docids(block, static_cast<unsigned>(n), end_docid, decoding.clear());
          decoding.decoder->decode_freqs(block, static_cast<unsigned>(n), decoding.clear());
        };
        CHECK_THROWS_AS(decode(), CorruptFile);
        CHECK_THROWS_AS(decoding.decoder->block_words(block, static_cast<unsigned>(n)), CorruptFile);
      }
    }
  }
}

TEST_CASE("encoders refuse blocks of impossible sizes", "[codec]") {
  const std::vector<std::uint32_t> values(513);
  const auto first = [&](std::size_t n) { return std::span(values).first(n); };
  for (const Codec* codec : all_codecs()) {
    INFO(codec->name);
    Words out;
    const auto encoder = codec->make_encoder({});
    encoder->start_list();
    CHECK_THROWS_AS(encoder->put_block(first(0), first(0), out), InvalidArgument);
    CHECK_THROWS_AS(encoder->put_block(first(129), first(129), out), InvalidArgument);
    CHECK_THROWS_AS(encoder->put_block(first(12), first(13), out), InvalidArgument);
    encoder->start_list();
    encoder->observe(first(100), first(100));
    encoder->put_header(out);
    encoder->put_block(first(100), first(100), out);
    CHECK_THROWS_AS(encoder->put_block(first(100), first(100), out), InvalidArgument);
  }
}

TEST_CASE("codecs are found by name, the first being the default", "[codec]") {
  CHECK(all_codecs().front()->name == "maskpfd");
  for (const Codec* codec : all_codecs()) CHECK(&codec_named(codec->name) == codec);
  CHECK_THROWS_AS(codec_named("lzw"), InvalidArgument);
  CHECK_THROWS_AS(codec_named(""), InvalidArgument);
}

TEST_CASE("block size and recursion are checked", "[codec]") {
  for (unsigned size : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u}) CHECK_NOTHROW(check_codec_options({size, 4}));
  for (unsigned size : {0u, 1u, 3u, 63u, 100u, 1024u}) CHECK_THROWS_AS(check_codec_options({size, 1}), InvalidArgument);
  CHECK_THROWS_AS(check_codec_options({128, 5}), InvalidArgument);
  for (const Codec* codec : all_codecs()) CHECK_THROWS_AS(codec->make_encoder({100, 1}), InvalidArgument);
}

}  // namespace quern
