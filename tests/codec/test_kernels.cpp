#include "quern/codec/bit_packing.hpp"
#include "quern/codec/kernel_parts.hpp"
#include "quern/codec/kernels.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

namespace quern {
namespace {

using test::Random;

using Values = std::vector<std::uint32_t>;

/// Values packed from a bit on, with room behind, and what else a kernel takes.
struct Run {
  Values values, patches;
  std::uint64_t bit;
  unsigned width;
  Words words;

  Run(Random& random, unsigned n, unsigned width_)
      : values(test::random_values(random, n, width_)),
        patches(test::random_values(random, n, 0, 32, 200)),
        bit(random() % 64),
        width(width_),
        words(words_of_bits(bit + std::uint64_t{n} * width) + over_read_bytes / 4) {
    pack(values.data(), n, width, words.data(), bit);
  }

  unsigned n() const { return static_cast<unsigned>(values.size()); }

  /// What a kernel makes of it, over the patches or over garbage.
  template <class Kernel, class... Before>
  Values unpacked(Kernel kernel, bool patched, Before... before) const {
    Values out = patched ? patches : Values(values.size(), 0x55555555);
    out.resize(values.size() + unpack_slack);
    kernel(words.data(), bit, width, n(), before..., out.data());
    out.resize(values.size());
    return out;
  }
};

}  // namespace

TEST_CASE("all levels unpack frequencies, patched or not", "[codec][property]") {
  Random random(1);
  for (unsigned trial = 0; trial < 33 * 40; ++trial) {
    const Run run(random, static_cast<unsigned>(random() % 150), trial % 33);
    Values freqs = run.values, patched = run.values;
    for (unsigned i = 0; i < run.n(); ++i) patched[i] += run.patches[i] + 1, freqs[i] += 1;
    for (const SimdLevel level : simd_levels()) {
      INFO(name_of(level) << ", " << run.n() << " values of " << run.width << " bits from bit " << run.bit);
      REQUIRE(run.unpacked(kernels_of(level).unpack_freqs, false) == freqs);
      REQUIRE(run.unpacked(kernels_of(level).unpack_freqs_patched, true) == patched);
    }
  }
}

TEST_CASE("all levels sum gaps up modulo 2^32, patched or not", "[codec][property]") {
  Random random(2);
  for (unsigned trial = 0; trial < 33 * 40; ++trial) {
    const Run run(random, static_cast<unsigned>(random() % 150), trial % 33);
    for (const std::uint32_t before : {0xffffffffu, 0u, 7u, 0xfffffff0u}) {
      Values docids, patched;
      std::uint32_t sum = before, patched_sum = before;
      for (unsigned i = 0; i < run.n(); ++i) {
        docids.push_back(sum += run.values[i] + 1);
        patched.push_back(patched_sum += run.values[i] + run.patches[i] + 1);
      }
      for (const SimdLevel level : simd_levels()) {
        INFO(name_of(level) << ", " << run.n() << " gaps of " << run.width << " bits from bit " << run.bit);
        REQUIRE(run.unpacked(kernels_of(level).unpack_docids, false, before) == docids);
        REQUIRE(run.unpacked(kernels_of(level).unpack_docids_patched, true, before) == patched);
      }
    }
  }
}

TEST_CASE("all levels put patches in place, and refuse those after the last value", "[codec][property]") {
  Random random(3);
  for (unsigned trial = 0; trial < 3000; ++trial) {
    const auto n = static_cast<unsigned>(1 + random() % 512), width = static_cast<unsigned>(random() % 32);
    Values expected(n), gaps, highs;
    unsigned next = 0;
    for (unsigned i = 0; i < n; ++i) {
      if (random() % (1 + trial % 20) != 0) continue;
      gaps.push_back(i - next);
      highs.push_back(static_cast<std::uint32_t>(random()));
      expected[i] = patch_of(highs.back(), width);
      next = i + 1;
    }
    const auto count = static_cast<unsigned>(gaps.size());
    gaps.resize(count + 15, 1);
    highs.resize(count + 15, 1);
    for (const SimdLevel level : simd_levels()) {
      INFO(name_of(level) << ", " << count << " exceptions of " << n << " values");
      const auto place = kernels_of(level).place_patches;
      Values out(n + unpack_slack, 7);
      REQUIRE(place(gaps.data(), highs.data(), count, width, n, out.data()));
      out.resize(n);
      REQUIRE(out == expected);
      if (count == 0) continue;
      for (const std::uint32_t excess : {n - next, 0xffffffffu - gaps[count / 2], 0x7fffffffu}) {
        // One place further than the last value, or around the end of 32 bits.
        Values wrong = gaps;
        wrong[count / 2] += excess + (excess == n - next ? 1 : 0);
        out.assign(n + unpack_slack, 7);
        CHECK_FALSE(place(wrong.data(), highs.data(), count, width, n, out.data()));
      }
    }
  }
}

TEST_CASE("the level of decoders can be set to what the processor has", "[codec]") {
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
