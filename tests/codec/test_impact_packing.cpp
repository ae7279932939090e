#include "quern/codec/bit_packing.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using test::Random;

/// A list's impacts, packed block by block.
Words packed(const std::vector<std::uint32_t>& impacts, unsigned width, unsigned block_size) {
  Words words;
  for (std::size_t from = 0; from < impacts.size(); from += block_size)
    put_impacts(std::span(impacts).subspan(from, std::min<std::size_t>(block_size, impacts.size() - from)), width,
                words);
  return words;
}

}  // namespace

TEST_CASE("quantized impacts of any width and block size are unpacked, block by block and one by one",
          "[codec][property]") {
  Random random(3);
  for (unsigned width = 1; width <= 16; ++width) {
    for (unsigned block_size = 2; block_size <= max_block_size; block_size *= 2) {
      for (const std::size_t df : {1u, block_size - 1, block_size, block_size + 1, 3 * block_size + 1}) {
        const auto impacts = test::random_values(random, static_cast<unsigned>(df), width);
        const Words words = packed(impacts, width, block_size);
        REQUIRE(words.size() == impact_list_words(df, block_size, width));
        Words readable = words;
        readable.resize(words.size() + over_read_bytes / 4);
        for (const SimdLevel level : simd_levels()) {
          INFO(name_of(level) << ", " << df << " impacts of " << width << " bits in blocks of " << block_size);
          set_simd_level(level);
          for (std::size_t from = 0; from < df; from += block_size) {
            const auto n = static_cast<unsigned>(std::min<std::size_t>(block_size, df - from));
            const std::uint32_t* block = impact_block(readable, width, block_size, from / block_size);
            std::vector<std::uint32_t> decoded(n + unpack_slack);
            decode_impacts(block, width, n, decoded.data());
            REQUIRE(std::equal(decoded.begin(), decoded.begin() + n, impacts.begin() + static_cast<long>(from)));
            for (unsigned place = 0; place < n; ++place)
              REQUIRE(impact_at(block, width, place) == impacts[from + place]);
          }
        }
      }
    }
  }
  set_simd_level(simd_levels().back());
}

TEST_CASE("a block of impacts keeps the words before it and leaves its padding zero", "[codec]") {
  Words words = {0xdeadbeef};
  put_impacts(std::vector<std::uint32_t>{1, 2, 3, 7, 5}, 3, words);
  put_impacts(std::vector<std::uint32_t>{0xffff, 1, 2}, 16, words);
  CHECK(words == Words{0xdeadbeef, 1 | 2 << 3 | 3 << 6 | 7 << 9 | 5 << 12, 0x0001ffff, 2});
  CHECK(impact_width_of(1) == 1);
  CHECK(impact_width_of(255) == 8);
  CHECK(impact_width_of(256) == 9);
}

}  // namespace quern
