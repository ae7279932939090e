#include <cmath>
#include <limits>

#include "quern/core/bm25.hpp"
#include "quern/core/random.hpp"

#include "catch.hpp"

using namespace quern;

TEST_CASE("an impact is rounded to the nearest step below the maximum, and to at least 1", "[quantized]") {
  const ImpactQuantizer quantize(8.0f, 4);
  CHECK(quantize.levels() == 15);
  CHECK(quantize(8.0f) == 15);
  CHECK(quantize(4.0f) == 8);  // 7.5: halves round up
  CHECK(quantize(3.9f) == 7);
  CHECK(quantize(0.8f) == 2);
  CHECK(quantize(0.79f) == 1);
  CHECK(quantize(1e-30f) == 1);
  CHECK(quantize.scale() == 15.0 / 8.0);
}

TEST_CASE("quantizing is monotone, and exact at the maximum, for any maximum and bits", "[quantized][property]") {
  RandomBits random(19);
  for (unsigned bits = min_quantize_bits; bits <= max_quantize_bits; ++bits) {
    for (int trial = 0; trial < 200; ++trial) {
      const float top = static_cast<float>(1 + random.below(1u << 24)) * 0x1p-18f;
      const ImpactQuantizer quantize(top, bits);
      INFO("top " << top << ", " << bits << " bits");
      REQUIRE(quantize(top) == quantize.levels());
      const float part = top * static_cast<float>(random.below(1u << 20)) * 0x1p-20f;
      const std::uint32_t value = quantize(part);
      REQUIRE(value >= 1);
      REQUIRE(value <= quantize.levels());
      REQUIRE(quantize(std::nextafter(part, top)) >= value);
      REQUIRE(quantize(std::nextafter(part, 0.0f)) <= value);
      if (value > 1) REQUIRE(std::abs(static_cast<double>(part) * quantize.scale() - value) <= 0.5 + 1e-9);
    }
  }
}

TEST_CASE("any float is quantized to an integer of the quantizer's bits", "[quantized]") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const ImpactQuantizer& quantize : {ImpactQuantizer(2.0f, 8), ImpactQuantizer(1e-44f, 16)}) {
    CHECK(quantize(3e38f) == quantize.levels());
    CHECK(quantize(infinity) == quantize.levels());
    for (const float low : {0.0f, -1.0f, -3e38f, -infinity, nan}) CHECK(quantize(low) == 1);
  }
  const ImpactQuantizer nothing(0, 8);
  for (const float part : {0.0f, 1.0f, infinity, nan}) CHECK(nothing(part) == 1);
}
