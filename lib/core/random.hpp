#pragma once
#include <cstdint>

namespace quern {

/// Seeded random numbers, the same on every system, unlike the standard library's distributions: SplitMix64 (Steele,
/// Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class RandomBits {
 public:
  explicit RandomBits(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t bits = (state_ += 0x9e3779b97f4a7c15u);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
  }

  /// Uniform over 0 to bound - 1; bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    // Numbers under 2^64 mod bound would favour low results: draw again.
    const std::uint64_t uneven = (0 - bound) % bound;
    for (;;) {
      const std::uint64_t bits = next();
      if (bits >= uneven) return bits % bound;
    }
  }

  /// Uniform over [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace quern
