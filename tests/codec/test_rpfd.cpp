#include "quern/codec/codec.hpp"
#include "quern/codec/rpfd_layout.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using rpfd::Widths;
using test::Random;
using Blocks = std::vector<std::vector<std::uint32_t>>;

/// The exceptions' high parts and position gaps of each block.
std::pair<Blocks, Blocks> exceptions_of(const Blocks& blocks, unsigned width) {
  Blocks highs, gaps;
  for (const auto& values : blocks) {
    highs.emplace_back();
    gaps.emplace_back();
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      const std::uint64_t high = std::uint64_t{values[i]} >> width;
      if (high == 0) continue;
      highs.back().push_back(static_cast<std::uint32_t>(high) - 1);
      gaps.back().push_back(i - next);
      next = i + 1;
    }
  }
  return {highs, gaps};
}

std::uint64_t count(const Blocks& blocks) {
  std::uint64_t values = 0;
  for (const auto& block : blocks) values += block.size();
  return values;
}

std::uint64_t count_bits(const Blocks& blocks, unsigned width) {
  std::uint64_t bits = 0;
  for (const auto& block : blocks) bits += rpfd::count_bits(static_cast<unsigned>(block.size()), width);
  return bits;
}

/// Bits of the arrays from `array` down with the given widths.
std::uint64_t bits_with(const rpfd::Shape& shape, unsigned array, const Blocks& blocks, const Widths& widths) {
  const unsigned width = widths[array];
  const auto [highs, gaps] = exceptions_of(blocks, width);
  const std::uint64_t own = count(blocks) * width + count_bits(blocks, width);
  if (shape.arrays[array].highs == 0) return own + 64 * count(highs);
  return own + bits_with(shape, shape.arrays[array].highs, highs, widths) +
         bits_with(shape, shape.arrays[array].positions, gaps, widths);
}

/// Bits of the arrays from `array` down with the best possible widths.
std::uint64_t min_bits(const rpfd::Shape& shape, unsigned array, const Blocks& blocks) {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned width = 0; width <= 32; ++width) {
    if (width == 31) continue;
    const auto [highs, gaps] = exceptions_of(blocks, width);
    std::uint64_t bits = count(blocks) * width + count_bits(blocks, width);
    if (shape.arrays[array].highs == 0)
      bits += 64 * count(highs);
    else if (bits < least)
      bits += min_bits(shape, shape.arrays[array].highs, highs) + min_bits(shape, shape.arrays[array].positions, gaps);
    least = std::min(least, bits);
    if (count(highs) == 0) break;
  }
  return least;
}

/// The excess size of values with the chosen widths over the best ones, in thousandths.
double excess(const std::vector<std::uint32_t>& values, unsigned block_size, unsigned recursion) {
  rpfd::WidthStatistics statistics(recursion);
  statistics.clear();
  Blocks blocks;
  for (std::size_t at = 0; at < values.size(); at += block_size) {
    const std::size_t end = std::min(values.size(), at + block_size);
    blocks.emplace_back(values.begin() + at, values.begin() + end);
    statistics.add(blocks.back());
  }
  const rpfd::Shape& shape = rpfd::shapes[recursion];
  const auto chosen = static_cast<double>(bits_with(shape, 0, blocks, statistics.choose()));
  return 1000 * (chosen / static_cast<double>(min_bits(shape, 0, blocks)) - 1);
}

}  // namespace

TEST_CASE("recursive PForDelta's widths are close to the best", "[codec][property]") {
  Random random(1);
  for (unsigned recursion : {0u, 1u, 2u})
    for (unsigned block_size : {64u, 128u, 512u}) {
      INFO("recursion " << recursion << ", blocks of " << block_size);
      // The arrays below depth 1 are estimated, which matters in small arrays.
      const double limit = recursion < 2 ? 20 : 100;
      for (std::size_t n : {300u, 6000u}) {
        for (double mean : {3.0, 300.0, 50000.0}) {
          const test::List list = test::clustered_list(random, n, mean);
          INFO("clustered, mean " << mean << ", " << n << " postings");
          CHECK(excess(list.gaps, block_size, recursion) < limit);
          CHECK(excess(list.freqs, block_size, recursion) < limit);
        }
        for (unsigned outliers : {0u, 20u, 100u, 300u}) {
          INFO("outliers " << outliers << " in a thousand, " << n << " postings");
          CHECK(excess(test::random_values(random, n, 4, 11, outliers), block_size, recursion) < limit);
        }
      }
    }
}

TEST_CASE("recursive PForDelta's arrays are numbered in preorder", "[codec]") {
  for (unsigned recursion = 0; recursion <= rpfd::max_recursion; ++recursion) {
    const rpfd::Shape& shape = rpfd::shapes[recursion];
    CHECK(shape.size == (2u << recursion) - 1);
    for (unsigned i = 0; i < shape.size; ++i) {
      const auto& array = shape.arrays[i];
      if (array.highs == 0) continue;
      CHECK(array.highs == i + 1);
      CHECK(array.positions > array.highs);
      CHECK(shape.arrays[array.highs].parent == i);
      CHECK(shape.arrays[array.positions].parent == i);
    }
  }
  CHECK(rpfd::list_header_words(0) == 1);
  CHECK(rpfd::list_header_words(1) == 1);
  CHECK(rpfd::list_header_words(2) == 3);
  CHECK(rpfd::list_header_words(3) == 5);
  CHECK(rpfd::list_header_words(4) == 10);
}

TEST_CASE("recursive PForDelta refuses impossible counts and positions", "[codec]") {
  const CodecOptions options{64, 0};
  // Widths 0 and 0; 3 postings, so counts take 2 bits each: one docID exception, no frequency exception.
  const auto decode = [&](std::uint32_t header, std::uint32_t counts, std::uint32_t position) {
    Words words = {header, counts, 4, position};
    words.resize(words.size() + over_read_bytes / 4);
    const WordView view(words.data(), 4);
    std::vector<std::uint32_t> out(64 + over_write_values);
    const auto decoder = rpfd_codec.make_decoder(options, view);
    decoder->decode_docids(view.subspan(1), 3, end_docid, out.data());
    return decoder->block_words(view.subspan(1), 3) == 3 ? out[2] : 0;
  };
  CHECK(decode(0, 1, 2) == 7);
  CHECK_THROWS_AS(decode(0, 1, 3), CorruptFile);
  CHECK_THROWS_AS(decode(0, 1, 0xffffffff), CorruptFile);
  CHECK_THROWS_AS(decode(0, 2, 0), CorruptFile);         // words of two exceptions
  CHECK_THROWS_AS(decode(1u << 31, 1, 2), CorruptFile);  // unused header bits

  Words words(2 + over_read_bytes / 4);
  words[1] = 0xffffffff;  // 3 exceptions among 2 values
  std::vector<std::uint32_t> out(64 + over_write_values);
  const auto decoder = rpfd_codec.make_decoder(options, WordView(words).first(2));
  CHECK_THROWS_AS(decoder->decode_docids(WordView(words).subspan(1, 1), 2, end_docid, out.data()), CorruptFile);
}

}  // namespace quern
