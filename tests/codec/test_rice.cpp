#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/codec/rice.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using test::Random;

/// Bits in unary code of the given numbers, from a bit offset on.
Words unary_words(const std::vector<unsigned>& numbers, std::uint64_t bit, std::uint64_t& end) {
  end = bit;
  for (const unsigned number : numbers) end += number + 1;
  Words words(words_of_bits(end) + 20, 0xffffffff);
  for (const unsigned number : numbers) {
    bit += number;
    words[bit / 32] &= ~(1u << bit % 32);
    ++bit;
  }
  return words;
}

}  // namespace

TEST_CASE("terminators of unary numbers are found at any offset", "[codec][property]") {
  Random random(1);
  for (unsigned trial = 0; trial < 3000; ++trial) {
    std::vector<unsigned> numbers(1 + random() % 200);
    for (unsigned& number : numbers) number = static_cast<unsigned>(random() % (random() % 50 == 0 ? 300 : 3));
    const std::uint64_t begin = random() % 100;
    std::uint64_t end;
    const Words words = unary_words(numbers, begin, end);
    const auto n = static_cast<unsigned>(numbers.size()), bits = static_cast<unsigned>(end - begin);
    std::vector<std::uint16_t> expected;
    for (const unsigned number : numbers)
      expected.push_back(static_cast<std::uint16_t>((expected.empty() ? 0 : expected.back() + 1) + number));
    for (const SimdLevel level : simd_levels()) {
      const auto find = kernels_of(level).find_terminators;
      std::vector<std::uint16_t> positions(n + unary_slack);
      REQUIRE(find(words.data(), begin, bits, n, positions.data()));
      positions.resize(n);
      REQUIRE(positions == expected);
      positions.resize(n + 1 + unary_slack);
      // One number too many, and one bit too few.
      CHECK_FALSE(find(words.data(), begin, bits, n + 1, positions.data()));
      CHECK_FALSE(find(words.data(), begin, bits - 1, n, positions.data()));
    }
  }
}

TEST_CASE("all levels add quotients or their sums", "[codec][property]") {
  Random random(7);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    const auto n = static_cast<unsigned>(1 + random() % 200), width = static_cast<unsigned>(random() % 32);
    std::vector<std::uint16_t> positions(1 + n + unpack_slack, 0xffff);
    std::vector<std::uint32_t> values(n + unpack_slack), single, summed;
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < n; ++i) {
      const auto quotient = static_cast<std::uint32_t>(random() % (random() % 20 == 0 ? 300 : 3));
      values[i] = static_cast<std::uint32_t>(random());
      sum += quotient;
      positions[1 + i] = static_cast<std::uint16_t>(sum + i);
      single.push_back(values[i] + (quotient << width));
      summed.push_back(values[i] + (sum << width));
    }
    for (const SimdLevel level : simd_levels()) {
      INFO(name_of(level) << ", " << n << " quotients times 2^" << width);
      std::vector<std::uint32_t> out = values;
      kernels_of(level).add_quotients(positions.data() + 1, width, n, out.data());
      out.resize(n);
      REQUIRE(out == single);
      out = values;
      kernels_of(level).add_summed_quotients(positions.data() + 1, width, n, out.data());
      out.resize(n);
      REQUIRE(out == summed);
    }
  }
}

TEST_CASE("Rice unary parts decode alike with positions of up to 16 bits and more", "[codec]") {
  const SimdLevel best = simd_level();
  // One gap far above all others, in a list so long that the width is 0.
  for (const std::uint32_t bits :
       {max_near_bits - 1, max_near_bits, max_near_bits + 1, 0xfffeu, 0xffffu, 0x10000u, 0x1003fu, 0x10040u, 0x20000u})
    for (const unsigned at : {0u, 5u, 126u, 127u}) {
      INFO("a unary part of " << bits << " bits, the long number at " << at);
      test::List list{std::vector<std::uint32_t>(128 * 2000), std::vector<std::uint32_t>(128 * 2000)};
      list.gaps[at] = list.freqs[at] = bits - 128;
      const auto coded = test::encode(*rice_codec.make_encoder({}), list, 128);
      REQUIRE((coded.words[0] & 0x3ff) == 0);
      Words padded = coded.words;
      padded.resize(padded.size() + over_read_bytes / 4);
      const WordView block(padded.data() + coded.starts[0], coded.starts[1] - coded.starts[0]);
      std::vector<std::uint32_t> docids(128 + over_write_values), freqs(128 + over_write_values);
      for (const SimdLevel level : simd_levels()) {
        set_simd_level(level);
        const auto decoder = rice_codec.make_decoder({}, WordView(padded.data(), coded.words.size()));
        decoder->decode_docids(block, 128, end_docid, docids.data());
        decoder->decode_freqs(block, 128, freqs.data());
        for (unsigned i = 0; i < 128; ++i) {
          REQUIRE(docids[i] == i + (i >= at ? bits - 128 : 0));
          REQUIRE(freqs[i] == 1 + (i == at ? bits - 128 : 0));
          REQUIRE(decoder->freq_at(block, 128, i) == freqs[i]);
        }
      }
    }
  set_simd_level(best);
}

TEST_CASE("Rice coding picks the width with the smallest size", "[codec][property]") {
  Random random(2);
  for (double mean : {1.0, 3.0, 40.0, 1000.0, 100000.0}) {
    const test::List list = test::clustered_list(random, 10000, mean);
    const auto coded = test::encode(*rice_codec.make_encoder({}), list, 128);
    const rice::Widths chosen = rice::Widths::from_word(coded.words[0]);
    const auto bits = [](const std::vector<std::uint32_t>& values, unsigned width) {
      double unary = 0;
      for (const std::uint32_t value : values) unary += (value >> width) + 1;
      return static_cast<double>(values.size()) * width + unary;
    };
    for (unsigned width = 0; width <= rice::max_width; ++width) {
      CHECK(bits(list.gaps, chosen.docid) <= bits(list.gaps, width));
      CHECK(bits(list.freqs, chosen.freq) <= bits(list.freqs, width));
    }
  }
}

TEST_CASE("Rice unary parts of 65,535 bits and more have their lengths in words", "[codec]") {
  // One gap far above all others, in a list so long that the width stays small.
  test::List list{std::vector<std::uint32_t>(60000), std::vector<std::uint32_t>(60000)};
  list.gaps[300] = 9000000;
  list.freqs[77] = 9000000;
  const auto coded = test::encode(*rice_codec.make_encoder({}), list, 128);
  CHECK(coded.words[coded.starts[0]] >> 16 == rice::long_length);
  CHECK((coded.words[coded.starts[2]] & 0xffff) == rice::long_length);
  Words padded = coded.words;
  padded.resize(padded.size() + over_read_bytes / 4);
  const WordView words(padded.data(), coded.words.size());
  const auto decoder = rice_codec.make_decoder({}, words);
  std::vector<std::uint32_t> out(128 + over_write_values);
  decoder->decode_freqs(words.subspan(coded.starts[0]), 128, out.data());
  CHECK(out[77] == 9000001);
  CHECK(out[78] == 1);
  CHECK(decoder->freq_at(words.subspan(coded.starts[0]), 128, 77) == 9000001);
  CHECK(decoder->block_words(words.subspan(coded.starts[2]), 128) == coded.starts[3] - coded.starts[2]);
  decoder->decode_docids(words.subspan(coded.starts[2]), 128, 255, out.data());
  CHECK(out[300 - 256] == 9000300);
}

TEST_CASE("Rice blocks with impossible unary parts are refused", "[codec]") {
  const test::List list{{3, 0, 1}, {0, 2, 0}};
  const Words good = test::encode(*rice_codec.make_encoder({}), list, 128).words;
  std::vector<std::uint32_t> out(128 + over_write_values);
  const auto decode = [&](Words words) {
    const std::size_t size = words.size();
    words.resize(size + over_read_bytes / 4);
    const WordView view(words.data(), size);
    const auto decoder = rice_codec.make_decoder({}, view);
    decoder->decode_docids(view.subspan(1), 3, end_docid, out.data());
    decoder->decode_freqs(view.subspan(1), 3, out.data());
  };
  CHECK_NOTHROW(decode(good));
  const auto with = [&](std::size_t index, std::uint32_t word) {
    Words changed = good;
    changed[index] = word;
    return changed;
  };
  CHECK_THROWS_AS(decode(with(0, good[0] | 1u << 11)), CorruptFile);  // unused header bits
  CHECK_THROWS_AS(decode(with(1, good[1] - 1)), CorruptFile);         // docIDs' part one bit too short
  CHECK_THROWS_AS(decode(with(1, good[1] + 1)), CorruptFile);         // or too long
  CHECK_THROWS_AS(decode(with(1, good[1] + 0x10000)), CorruptFile);   // frequencies' part one bit too long
  CHECK_THROWS_AS(decode(with(1, 2u << 16 | 2u)), CorruptFile);       // fewer bits than values
  CHECK_THROWS_AS(decode(with(1, good[1] | 0xffff)), CorruptFile);    // a short length in a separate word
  CHECK_THROWS_AS(decode(with(2, 0xffffffff)), CorruptFile);          // no terminators
}

}  // namespace quern
