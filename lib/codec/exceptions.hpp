#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"

/// Exceptions of a run of values: those with more bits than their slots. Codecs store the gaps between their positions
/// and their high parts less one; kernels take the high parts less one at the place of each value.
namespace quern {

/// What an exception adds to the low part in its slot. `high` is its high part less one.
constexpr std::uint32_t patch_of(std::uint32_t high, unsigned width) {
  return static_cast<std::uint32_t>((std::uint64_t{high} + 1) << width);
}

/// Narrow values are below this. So they are positive in 16 bits with sign, even if 1 is added.
inline constexpr std::uint32_t narrow_values = 0x7fff;

/// At the place of a value without high part. As a high part less one, it adds nothing to the value.
template <class High>
inline constexpr High no_high = static_cast<High>(~High{0});

/// The greatest high part less one of a value that has at most 15 bits, plus one, in slots of `width` bits, at most 13.
constexpr std::uint32_t greatest_short_high(unsigned width) { return (0x7fffu >> width) - 2; }

/// Exceptions taken at a time, whether or not there are so many: a branch for each would cost more.
inline constexpr unsigned exceptions_at_a_time = 8;

/// Room for `size` values of a stream of exceptions, with what place_exceptions() reads before them.
template <class Value, std::size_t size>
class ExceptionValues {
 public:
  ExceptionValues() { std::fill_n(all_.data() + lead - exceptions_at_a_time, exceptions_at_a_time, Value{0}); }
  Value* data() { return all_.data() + lead; }
  const Value* data() const { return all_.data() + lead; }

 private:
  static constexpr std::size_t lead = 64 / sizeof(Value);
  alignas(64) std::array<Value, lead + size> all_;
};

/// The high parts less one of the n values of a run.
template <class High>
class PlacedHighs {
 public:
  /// Takes `count` exceptions from arrays that ExceptionValues hold. Returns false if one's position isn't below n,
  /// which is at most max_block_size.
  bool place(const High* gaps, const High* highs, unsigned count, unsigned n) {
    constexpr int step = exceptions_at_a_time;
    for (unsigned i = 0; i < n; i += 32) std::memset(all_.data() + lead + i, 0xff, 32 * sizeof(High));  // no_high
    // Takes some zeros before the first gap too, so that steps end with the last. They go to the places before 0.
    std::int64_t e = -static_cast<int>(-count % step), sum = 0;  // the sum of gaps: the positions less e
    for (High* to = all_.data() + lead + e; e < std::int64_t{count}; e += step, to += step) {
      // Summed up apart from those before, for which the next step would wait.
      std::array<std::int64_t, step> sums{gaps[e]};
      for (int j = 1; j < step; ++j) sums[j] = sums[j - 1] + gaps[e + j];
      if (sum + sums[step - 1] + e + step > n) return false;  // the last of them has the greatest position
      for (int j = 0; j < step; ++j) to[sum + sums[j] + j] = highs[e + j];
      sum += sums[step - 1];
    }
    return true;
  }

  /// For kernels that write them.
  High* data() { return all_.data() + lead; }
  const High* data() const { return all_.data() + lead; }

 private:
  static constexpr std::size_t lead = 64 / sizeof(High);
  alignas(64) std::array<High, lead + max_block_size> all_;
};

}  // namespace quern
