#include <algorithm>
#include <bit>

#include "quern/codec/newpfd.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using test::Random;
using Values = std::vector<std::uint32_t>;

Words simple16_of(const Values& values) {
  const auto count = static_cast<unsigned>(values.size());
  std::vector<std::uint8_t> widths(count + simple16::plan_slack), ways(count);
  for (unsigned i = 0; i < count; ++i) widths[i] = static_cast<std::uint8_t>(std::bit_width(values[i]));
  Words words(simple16::plan(widths.data(), count, ways.data()));
  simple16::encode(values.data(), count, ways.data(), words.data());
  return words;
}

/// The values that the reader gives, and all kernels if they are narrow.
Values decoded(Words words, unsigned count) {
  const std::uint32_t* const end = words.data() + words.size();
  simple16::Reader reader(words.data(), end), skipping = reader;
  Values values(count);
  for (std::uint32_t& value : values) REQUIRE(reader(value));
  REQUIRE(reader.next_word() == end);
  for (unsigned skipped = 0; skipped < count; skipped += 7) {
    simple16::Reader at = skipping;
    REQUIRE(at.skip(skipped));
    std::uint32_t value = 0;
    REQUIRE(at(value));
    REQUIRE(value == values[skipped]);
  }
  REQUIRE(skipping.skip(count));
  REQUIRE(skipping.next_word() == end);
  const std::size_t size = words.size();
  words.resize(size + over_read_bytes / 4);
  const bool are_narrow = std::all_of(values.begin(), values.end(), [](auto value) { return value < narrow_values; });
  for (const SimdLevel level : simd_levels()) {
    INFO(name_of(level));
    std::vector<std::uint16_t> narrow(count + simple16::decode_slack);
    const Simple16Values result = kernels_of(level).simple16(words.data(), size, count, narrow.data());
    REQUIRE(result == (are_narrow ? Simple16Values::narrow : Simple16Values::wide));
    narrow.resize(count);
    if (are_narrow) REQUIRE(Values(narrow.begin(), narrow.end()) == values);
  }
  return values;
}

/// The cost of a stream with slots of `width` bits: its size, and the cost of its exceptions; the maximum if the format
/// can't have it.
std::uint64_t cost_of(std::span<const std::uint32_t> values, unsigned width) {
  constexpr std::uint64_t impossible = ~std::uint64_t{0};
  Values coded, highs;
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint64_t high = std::uint64_t{values[i]} >> width;
    if (high == 0) continue;
    if (high > 1u << simple16::max_width) return impossible;
    coded.push_back(i - next);
    highs.push_back(static_cast<std::uint32_t>(high) - 1);
    next = i + 1;
  }
  if (coded.size() > newpfd::max_exceptions || width == 31) return impossible;
  coded.insert(coded.end(), highs.begin(), highs.end());
  return values.size() * width + 32 * simple16_of(coded).size() + newpfd::exception_cost * highs.size();
}

std::uint64_t least_cost(std::span<const std::uint32_t> values) {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned width = 0; width <= 32; ++width) least = std::min(least, cost_of(values, width));
  return least;
}

/// The cost of a list's blocks in relation to that with the best width in each block.
double relative_cost(const test::List& list, unsigned block_size) {
  const auto coded = test::encode(*newpfd_codec.make_encoder({block_size, 1}), list, block_size);
  std::uint64_t cost = 32 * coded.words.size(), least = 0;
  std::size_t block = 0;
  test::for_each_block(list, block_size, [&](auto gaps, auto freqs) {
    const newpfd::Header header(coded.words[coded.starts[block++]]);
    cost += newpfd::exception_cost * (header.docid_exceptions + header.freq_exceptions);
    least += 32 + (least_cost(gaps) + least_cost(freqs) + 31) / 32 * 32;
  });
  return static_cast<double>(cost) / static_cast<double>(least);
}

}  // namespace

TEST_CASE("Simple16 decodes values of all widths as encoded", "[codec][property]") {
  Random random(1);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    const Values values = test::random_values(random, random() % 255, trial % 29, static_cast<unsigned>(random() % 29),
                                              static_cast<unsigned>(random() % 500));
    REQUIRE(decoded(simple16_of(values), static_cast<unsigned>(values.size())) == values);
  }
}

TEST_CASE("each way of Simple16 fills 28 bits and is used", "[codec]") {
  for (std::uint32_t number = 0; number < 16; ++number) {
    const simple16::Way way = simple16::way_of(number << 28);
    Values greatest;
    unsigned bit = 0;
    for (unsigned i = 0; i < way.count; bit += way.width_of(i++)) {
      CHECK(way.bit_of(i) == bit);
      greatest.push_back((1u << way.width_of(i)) - 1);
    }
    CHECK(bit == 28);
    const Words words = simple16_of(greatest);
    REQUIRE(words.size() == 1);
    CHECK(words[0] == (number << 28 | 0x0fffffff));
    CHECK(decoded(words, way.count) == greatest);
  }
}

TEST_CASE("Simple16 distinguishes values that fit in 15 bits from greater ones", "[codec]") {
  for (const std::uint32_t value : {0x3fffu, 0x4000u, 0x7ffeu, 0x7fffu, 0x8000u, 0xffffu, 0x10000u, 0xfffffffu})
    for (unsigned before = 0; before < 20; ++before) {
      Values values(before + 1, 77);
      values[before] = value;
      CHECK(decoded(simple16_of(values), before + 1) == values);
    }
}

TEST_CASE("a truncated Simple16 stream is refused", "[codec][property]") {
  Random random(2);
  const Values values = test::random_values(random, 200, 9);
  Words words = simple16_of(values);
  const std::size_t size = words.size();
  words.resize(size + over_read_bytes / 4);
  std::vector<std::uint16_t> out(200 + simple16::decode_slack);
  for (std::size_t cut = 0; cut < size; ++cut) {
    CHECK_FALSE(simple16::Reader(words.data(), words.data() + cut).skip(200));
    for (const SimdLevel level : simd_levels())
      CHECK(kernels_of(level).simple16(words.data(), cut, 200, out.data()) == Simple16Values::cut);
  }
}

TEST_CASE("the header of a NewPFD block round-trips", "[codec]") {
  for (unsigned width = 0; width <= 32; ++width) {
    if (width == 31) continue;
    newpfd::Header header;
    header.docid_width = width;
    header.docid_exceptions = 127;
    header.freq_width = 32 - (width == 1 ? 0 : width);
    header.freq_exceptions = width;
    header.docid_exception_words = 200 + width;
    const newpfd::Header read(header.word());
    CHECK(read.docid_width == width);
    CHECK(read.docid_exceptions == 127);
    CHECK(read.freq_width == header.freq_width);
    CHECK(read.freq_exceptions == width);
    CHECK(read.docid_exception_words == 200 + width);
  }
}

TEST_CASE("NewPFD's widths cost at most two hundredths more than the best", "[codec][property]") {
  Random random(1);
  for (unsigned block_size : {64u, 128u, 256u, 512u}) {
    INFO("blocks of " << block_size);
    for (double mean_gap : {5.0, 300.0, 50000.0})
      CHECK(relative_cost(test::clustered_list(random, 30000, mean_gap), block_size) < 1.02);
    for (unsigned width : {1u, 4u, 9u, 17u})
      for (unsigned outliers : {0u, 20u, 100u, 200u}) {
        INFO(width << " bits, " << outliers << " outliers in a thousand");
        const test::List list{test::random_values(random, 20000, width, width + 7, outliers),
                              test::random_values(random, 20000, width / 4, width / 4 + 4, outliers)};
        CHECK(relative_cost(list, block_size) < 1.02);
      }
  }
}

TEST_CASE("NewPFD chooses a larger width if exceptions would be too many or their high parts too wide", "[codec]") {
  test::List list{Values(512), Values(512)};
  for (unsigned i = 0; i < 200; ++i) list.gaps[i] = 1 << 20;
  Words words = test::encode(*newpfd_codec.make_encoder({512, 1}), list, 512).words;
  CHECK(newpfd::Header(words[0]).docid_exceptions <= newpfd::max_exceptions);
  // Simple16 takes 28 bits at most.
  list.gaps.assign(512, 0);
  list.gaps[100] = 0xffffffff;
  words = test::encode(*newpfd_codec.make_encoder({512, 1}), list, 512).words;
  CHECK(newpfd::Header(words[0]).docid_width == 4);
  CHECK(newpfd::Header(words[0]).docid_exceptions == 1);
}

TEST_CASE("an exception past the values of a NewPFD block is refused", "[codec]") {
  newpfd::Header header;
  header.docid_exceptions = 1;
  header.docid_exception_words = 1;
  Words words = {header.word(), 14u << 28 | 63, 0};
  words.resize(words.size() + over_read_bytes / 4);
  const auto decoder = newpfd_codec.make_decoder({}, {});
  Values out(64 + over_write_values);
  CHECK(decoder->block_words(WordView(words).first(3), 64) == 2);
  decoder->decode_docids(WordView(words).first(3), 64, end_docid, out.data());
  CHECK(out[63] == 64);
  CHECK_THROWS_AS(decoder->decode_docids(WordView(words).first(3), 63, end_docid, out.data()), CorruptFile);
  CHECK_THROWS_AS(decoder->decode_docids(WordView(words).first(1), 64, end_docid, out.data()), CorruptFile);
}

}  // namespace quern
