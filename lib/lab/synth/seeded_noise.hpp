#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

/// Noise as a function of (key, place): the same number in any order and on any thread. So each list can be drawn
/// independently and still agree with correlated lists on their shared noise.
namespace quern {

/// The finalizer of SplitMix64 (see core/random.hpp).
inline std::uint64_t mix_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

inline std::uint64_t noise_bits(std::uint64_t key, std::uint64_t place) {
  return mix_bits(key + place * 0x9e3779b97f4a7c15u);
}

/// Nearly normal with mean 0 and variance 1: the number of ones among 64 random bits.
inline float normal_of(std::uint64_t bits) { return static_cast<float>(std::popcount(bits) - 32) * 0.25f; }

/// A second such number from the same bits, uncorrelated with the first: the ones in the upper half minus those in the
/// lower half.
inline float other_normal_of(std::uint64_t bits) {
  return static_cast<float>(std::popcount(bits >> 32) - std::popcount(bits & 0xffffffffu)) * 0.25f;
}

/// Uniform in [0, 1).
inline float unit_of(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

/// e^x with a relative error below 3e-4, for x beyond ±80 that of ±80; the same bits with every compiler and library,
/// which std::exp does not promise.
inline float portable_exp(float x) {
  const float scaled = std::clamp(x, -80.0f, 80.0f) * 1.44269504f;
  const float floor = static_cast<float>(static_cast<std::int32_t>(scaled + 1024.0f) - 1024);
  const float rest = scaled - floor;
  const float power = 1.0f + rest * (0.69583356f + rest * (0.22606716f + rest * 0.07802454f));
  return power * std::bit_cast<float>((static_cast<std::uint32_t>(static_cast<std::int32_t>(floor) + 127)) << 23);
}

}  // namespace quern
