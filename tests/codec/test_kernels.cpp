#include <algorithm>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using test::Random;

using Values = std::vector<std::uint32_t>;

/// Values packed from a bit offset on, with space after them, and a kernel's other inputs.
struct Run {
  Values values;
  std::vector<std::uint16_t> narrow_highs;  ///< up to the next multiple of 32
  Values wide_highs;
  std::uint64_t bit;
  unsigned width;
  Words words;

  Run(Random& random, unsigned n, unsigned width_)
      : values(test::random_values(random, n, width_)),
        narrow_highs((n + 31) / 32 * 32, no_high<std::uint16_t>),
        wide_highs(narrow_highs.size(), no_high<std::uint32_t>),
        bit(random() % 64),
        width(width_),
        words(words_of_bits(bit + std::uint64_t{n} * width) + over_read_bytes / 4) {
    pack(values.data(), n, width, words.data(), bit);
    const unsigned bits = 1 + random() % 15, wide_bits = 1 + random() % 32;
    for (unsigned i = 0; i < n; ++i) {
      if (random() % 4 == 0) narrow_highs[i] = static_cast<std::uint16_t>(random() % std::min(1u << bits, 0x7fffu));
      if (random() % 4 == 0) wide_highs[i] = static_cast<std::uint32_t>(random()) >> (32 - wide_bits);
    }
  }

  unsigned n() const { return static_cast<unsigned>(values.size()); }

  /// The kernel's output, written over garbage. `more` are its arguments between n and the output.
  template <class Kernel, class... More>
  Values unpacked(Kernel kernel, More... more) const {
    Values out(values.size() + unpack_slack + 1, 0x55555555);
    kernel(words.data(), bit, width, n(), more..., out.data());
    REQUIRE(out.back() == 0x55555555);
    out.resize(values.size());
    return out;
  }

  template <class High>
  Values with_patches(const std::vector<High>& highs) const {
    Values patched = values;
    for (unsigned i = 0; i < n(); ++i)
      if (highs[i] != no_high<High>) patched[i] += patch_of(highs[i], width);
    return patched;
  }
};

Values freqs_of(Values values) {
  for (std::uint32_t& value : values) ++value;
  return values;
}

Values docids_of(Values gaps, std::uint32_t before) {
  for (std::uint32_t& gap : gaps) gap = before += gap + 1;
  return gaps;
}

}  // namespace

TEST_CASE("all levels unpack frequencies, patched or not", "[codec][property]") {
  Random random(1);
  for (unsigned trial = 0; trial < 33 * 40; ++trial) {
    const Run run(random, static_cast<unsigned>(random() % 150), trial % 33);
    const Values narrow = freqs_of(run.with_patches(run.narrow_highs)),
                 wide = freqs_of(run.with_patches(run.wide_highs));
    for (const SimdLevel level : simd_levels()) {
      INFO(name_of(level) << ", " << run.n() << " values of " << run.width << " bits from bit " << run.bit);
      const Kernels& kernels = kernels_of(level);
      REQUIRE(run.unpacked(kernels.unpack) == run.values);
      REQUIRE(run.unpacked(kernels.unpack_freqs) == freqs_of(run.values));
      REQUIRE(run.unpacked(kernels.unpack_freqs_narrow, run.narrow_highs.data()) == narrow);
      REQUIRE(run.unpacked(kernels.unpack_freqs_wide, run.wide_highs.data()) == wide);
    }
  }
}

TEST_CASE("all levels sum gaps modulo 2^32, patched or not", "[codec][property]") {
  Random random(2);
  for (unsigned trial = 0; trial < 33 * 40; ++trial) {
    const Run run(random, static_cast<unsigned>(random() % 150), trial % 33);
    for (const std::uint32_t before : {0xffffffffu, 0u, 7u, 0xfffffff0u}) {
      const Values narrow = docids_of(run.with_patches(run.narrow_highs), before);
      const Values wide = docids_of(run.with_patches(run.wide_highs), before);
      for (const SimdLevel level : simd_levels()) {
        INFO(name_of(level) << ", " << run.n() << " gaps of " << run.width << " bits from bit " << run.bit);
        const Kernels& kernels = kernels_of(level);
        REQUIRE(run.unpacked(kernels.unpack_docids, before) == docids_of(run.values, before));
        REQUIRE(run.unpacked(kernels.unpack_docids_narrow, before, run.narrow_highs.data()) == narrow);
        REQUIRE(run.unpacked(kernels.unpack_docids_wide, before, run.wide_highs.data()) == wide);
      }
    }
  }
}

TEST_CASE("all levels sum gaps just below and above the 15-bit limit", "[codec]") {
  // Slots of zeros and one exception, in each lane.
  for (unsigned width = 0; width <= 16; ++width)
    for (unsigned i = 0; i < 64; ++i)
      for (std::uint32_t high = (0x7fffu >> width) - std::min(0x7fffu >> width, 4u); high < (0x7fffu >> width) + 3;
           ++high) {
        if (high >= narrow_values) continue;
        const Words words(words_of_bits(64 * width) + over_read_bytes / 4, 0xffffffff);
        std::vector<std::uint16_t> highs(64, no_high<std::uint16_t>);
        highs[i] = static_cast<std::uint16_t>(high);
        Values values(64, low_mask(width));
        values[i] += patch_of(high, width);
        for (const SimdLevel level : simd_levels()) {
          INFO(name_of(level) << ", value " << i << " of " << width << " bits, high part " << high);
          Values out(64 + unpack_slack);
          kernels_of(level).unpack_docids_narrow(words.data(), 0, width, 64, 7, highs.data(), out.data());
          out.resize(64);
          REQUIRE(out == docids_of(values, 7));
          kernels_of(level).unpack_freqs_narrow(words.data(), 0, width, 64, highs.data(), out.data());
          REQUIRE(out == freqs_of(values));
        }
      }
}

TEST_CASE("all levels unpack values with arrays of high parts", "[codec][property]") {
  Random random(3);
  for (unsigned trial = 0; trial < 3000; ++trial) {
    const unsigned n = 1 + static_cast<unsigned>(random() % (trial % 2 == 0 ? max_block_size : 128));
    const unsigned width = static_cast<unsigned>(random() % 31), arrays = 1 + random() % HighParts::max_arrays;
    const unsigned kept = static_cast<unsigned>(random() % 65);
    Words words(words_of_bits(100 + std::uint64_t{n} * (width + 3 * 14)) + over_read_bytes / 4);
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    std::array<std::array<std::uint8_t, max_block_size / 8 + 24>, HighParts::max_arrays> masks;
    std::array<CopiedMask, HighParts::max_arrays> copied;
    HighParts parts;
    std::uint32_t above = n, bit = static_cast<std::uint32_t>(random() % 100) + n * width;
    for (unsigned index = 0; index < HighParts::max_arrays; ++index) {
      HighParts::Array& array = parts.arrays[index];
      for (std::uint8_t& byte : masks[index])  // fewer exceptions in some trials
        byte = static_cast<std::uint8_t>(random() % 64 < kept ? random() : random() & random() & random());
      array.above = index < arrays ? above : 0;
      array.size = above =
          copied[index].copy(reinterpret_cast<const std::uint32_t*>(masks[index].data()), 3, array.above);
      array.mask = copied[index].bytes();
      array.width = index < arrays ? static_cast<unsigned>(random() % (14 / arrays + 1)) : 0;
      array.slots_bit = bit;
      bit += array.size * array.width;
    }
    if (arrays == 3 && parts.arrays[0].width + parts.arrays[1].width + parts.arrays[2].width > 13) continue;
    const std::uint32_t before = static_cast<std::uint32_t>(random());
    Values freqs(n + unpack_slack + 1), docids(n + unpack_slack + 1);
    portable_kernels.unpack_freqs_with_highs(words.data(), 7, width, n, parts, freqs.data());
    freqs.resize(n);
    for (const SimdLevel level : simd_levels()) {
      INFO(name_of(level) << ", " << n << " values of " << width << " bits, " << arrays << " arrays");
      Values out(n + unpack_slack + 1, 0x55555555);
      kernels_of(level).unpack_freqs_with_highs(words.data(), 7, width, n, parts, out.data());
      REQUIRE(out.back() == 0x55555555);
      out.resize(n);
      REQUIRE(out == freqs);
      out.resize(n + unpack_slack + 1, 0x55555555);
      kernels_of(level).unpack_docids_with_highs(words.data(), 7, width, n, before, parts, out.data());
      REQUIRE(out.back() == 0x55555555);
      std::uint32_t docid = before;
      for (unsigned i = 0; i < n; ++i) REQUIRE(out[i] == (docid += freqs[i]));
    }
  }
}

TEST_CASE("decoders can use any level that the processor supports", "[codec]") {
  const SimdLevel best = simd_level();
  CHECK(best == simd_levels().back());
  CHECK(simd_levels().front() == SimdLevel::portable);
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    CHECK(simd_level() == level);
    CHECK(&kernels() == &kernels_of(level));
  }
  if (best != SimdLevel::avx512) CHECK_THROWS_AS(set_simd_level(SimdLevel::avx512), InvalidArgument);
  set_simd_level(best);
}

}  // namespace quern
