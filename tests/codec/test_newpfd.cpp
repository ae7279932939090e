#include <bit>

#include "quern/codec/codecs.hpp"
#include "quern/codec/newpfd_layout.hpp"
#include "quern/codec/simple16.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using test::Random;

/// Bits of a stream's slots and exceptions with slots of `width` bits; nothing where the format can't have it.
std::uint64_t bits_with_width(std::span<const std::uint32_t> values, unsigned width) {
  constexpr std::uint64_t impossible = ~std::uint64_t{0};
  std::vector<std::uint32_t> gaps, highs;
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint64_t high = std::uint64_t{values[i]} >> width;
    if (high == 0) continue;
    if (high >= 1u << 28) return impossible;
    gaps.push_back(i - next);
    highs.push_back(static_cast<std::uint32_t>(high) - 1);
    next = i + 1;
  }
  if (gaps.size() > newpfd::max_exceptions || width == 31) return impossible;
  gaps.insert(gaps.end(), highs.begin(), highs.end());
  std::vector<std::uint8_t> widths(gaps.size() + simple16_slack);
  for (std::size_t i = 0; i < gaps.size(); ++i) widths[i] = static_cast<std::uint8_t>(std::bit_width(gaps[i]));
  std::vector<std::uint8_t> ways(gaps.size());
  return values.size() * width + 32 * simple16_plan(widths.data(), static_cast<unsigned>(gaps.size()), ways.data());
}

std::uint64_t min_bits(std::span<const std::uint32_t> values) {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned width = 0; width <= 32; ++width) least = std::min(least, bits_with_width(values, width));
  return least;
}

/// How much larger lists get than with the best width in each block, in thousandths.
double excess(const test::List& list, unsigned block_size) {
  const auto coded = test::encode(*newpfd_codec().make_encoder({block_size, 1}), list, block_size);
  std::uint64_t least = 0;
  test::for_each_block(list, block_size, [&](auto gaps, auto freqs) {
    least += 32 * (1 + words_of_bits(min_bits(gaps) + min_bits(freqs)));
  });
  return 1000 * (32 * static_cast<double>(coded.words.size()) / static_cast<double>(least) - 1);
}

}  // namespace

TEST_CASE("the header of a NewPFD block keeps its fields", "[codec]") {
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

TEST_CASE("NewPFD's widths are within a hundredth of the best", "[codec][property]") {
  Random random(1);
  for (unsigned block_size : {64u, 128u, 256u, 512u}) {
    INFO("blocks of " << block_size);
    CHECK(excess(test::clustered_list(random, 30000, 5), block_size) < 10);
    CHECK(excess(test::clustered_list(random, 30000, 300), block_size) < 10);
    CHECK(excess(test::clustered_list(random, 30000, 50000), block_size) < 10);
    for (unsigned width : {1u, 4u, 9u, 17u})
      for (unsigned outliers : {0u, 20u, 100u, 200u}) {
        INFO(width << " bits, " << outliers << " outliers in a thousand");
        const test::List list{test::random_values(random, 20000, width, width + 7, outliers),
                              test::random_values(random, 20000, width / 4, width / 4 + 4, outliers)};
        CHECK(excess(list, block_size) < 10);
      }
  }
}

TEST_CASE("NewPFD chooses a larger width if exceptions would be too many or their high parts too wide", "[codec]") {
  // 200 exceptions of 512 would be the smallest.
  test::List list{std::vector<std::uint32_t>(512), std::vector<std::uint32_t>(512)};
  for (unsigned i = 0; i < 200; ++i) list.gaps[i] = 1 << 20;
  Words words = test::encode(*newpfd_codec().make_encoder({512, 1}), list, 512).words;
  CHECK(newpfd::Header(words[0]).docid_exceptions <= newpfd::max_exceptions);
  // One value of 32 bits among zeros: 28 bits are the most that Simple16 takes.
  list.gaps.assign(512, 0);
  list.gaps[100] = 0xffffffff;
  words = test::encode(*newpfd_codec().make_encoder({512, 1}), list, 512).words;
  CHECK(newpfd::Header(words[0]).docid_width == 4);
  CHECK(newpfd::Header(words[0]).docid_exceptions == 1);
}

TEST_CASE("a NewPFD exception behind the block's values is refused", "[codec]") {
  newpfd::Header header;
  header.docid_exceptions = 1;
  header.docid_exception_words = 1;
  Words words = {header.word(), 14u << 28 | 63, 0};
  words.resize(words.size() + over_read_bytes / 4);
  const auto decoder = newpfd_codec().make_decoder({}, {});
  std::vector<std::uint32_t> out(64 + over_write_values);
  CHECK(decoder->block_words(WordView(words).first(3), 64) == 2);
  decoder->decode_docids(WordView(words).first(3), 64, end_docid, out.data());
  CHECK(out[63] == 64);
  CHECK_THROWS_AS(decoder->decode_docids(WordView(words).first(3), 63, end_docid, out.data()), CorruptFile);
}

}  // namespace quern
