#include "quern/codec/bit_packing.hpp"
#include "quern/codec/kernels.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

constexpr std::size_t over_read_words = over_read_bytes / 4;

}  // namespace

TEST_CASE("values of each width can be unpacked from each bit offset", "[codec][property]") {
  test::Random random(1);
  for (unsigned width = 0; width <= 32; ++width)
    for (unsigned offset = 0; offset < 64; ++offset) {
      const auto n = static_cast<unsigned>(random() % 70);
      INFO(n << " values of " << width << " bits from bit " << offset);
      const std::vector<std::uint32_t> values = test::random_values(random, n, width);
      Words words(words_of_bits(offset + n * width) + over_read_words);
      // Ones before the run must stay.
      for (unsigned bit = 0; bit < offset; ++bit) words[bit / 32] |= 1u << bit % 32;
      pack(values.data(), n, width, words.data(), offset);

      std::vector<std::uint32_t> out;
      for (const SimdLevel level : simd_levels()) {
        INFO(name_of(level));
        out.assign(n + unpack_slack, 7);
        kernels_of(level).unpack(words.data(), offset, width, n, out.data());
        out.resize(n);
        REQUIRE(out == values);
      }
      for (unsigned i = 0; i < n; ++i) out[i] = unpack_one(words.data(), offset + std::uint64_t{i} * width, width);
      REQUIRE(out == values);
      unsigned ones = 0;
      for (unsigned bit = 0; bit < offset; ++bit) ones += words[bit / 32] >> bit % 32 & 1;
      REQUIRE(ones == offset);
    }
}

TEST_CASE("packing keeps the low bits of values that are too wide", "[codec]") {
  const std::vector<std::uint32_t> values = {0xffffffff, 0x12345678, 0xabcdef01};
  Words words(3 + over_read_words);
  pack(values.data(), 3, 12, words.data(), 5);
  CHECK(unpack_one(words.data(), 5, 12) == 0xfff);
  CHECK(unpack_one(words.data(), 17, 12) == 0x678);
  CHECK(unpack_one(words.data(), 29, 12) == 0xf01);
  CHECK(words[0] << 27 == 0);
}

TEST_CASE("runs packed one after another do not disturb each other", "[codec][property]") {
  test::Random random(2);
  for (unsigned trial = 0; trial < 200; ++trial) {
    Words words(4000);
    std::vector<std::pair<unsigned, std::vector<std::uint32_t>>> runs;
    std::uint64_t bit = 0;
    for (unsigned run = 0; run < 10; ++run) {
      const auto width = static_cast<unsigned>(random() % 33);
      runs.push_back({width, test::random_values(random, random() % 40, width)});
      const auto n = static_cast<unsigned>(runs.back().second.size());
      pack(runs.back().second.data(), n, width, words.data(), bit);
      bit += std::uint64_t{n} * width;
    }
    bit = 0;
    for (const auto& [width, values] : runs) {
      const auto n = static_cast<unsigned>(values.size());
      std::vector<std::uint32_t> out(n + unpack_slack);
      kernels().unpack(words.data(), bit, width, n, out.data());
      out.resize(n);
      REQUIRE(out == values);
      bit += std::uint64_t{n} * width;
    }
  }
}

TEST_CASE("bits appended in chunks of every length can be read back", "[codec][property]") {
  test::Random random(4);
  Words words(10000);
  BitAppender to(words.data(), 11);
  std::vector<std::pair<std::uint64_t, unsigned>> chunks;
  for (unsigned i = 0; i < 1000; ++i) {
    const auto count = static_cast<unsigned>(random() % 57);
    chunks.push_back({random() & ((std::uint64_t{1} << count) - 1), count});
    to.append(chunks.back().first, count);
  }
  std::uint64_t bit = 11;
  for (const auto& [bits, count] : chunks) {
    const unsigned low = std::min(count, 32u);
    REQUIRE(unpack_one(words.data(), bit, low) == (bits & 0xffffffff));
    REQUIRE(unpack_one(words.data(), bit + low, count - low) == bits >> low);
    bit += count;
  }
}

}  // namespace quern
