#pragma once
#include <cstring>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"

/// Exceptions of a run: values with more bits than their slots. Codecs store the gaps between their positions, and
/// their high parts minus one; kernels take the high part minus one at each value's index.
namespace quern {

/// The addend of an exception to the low part in its slot. `high` is its high part minus one.
constexpr std::uint32_t patch_of(std::uint32_t high, unsigned width) {
  return static_cast<std::uint32_t>((std::uint64_t{high} + 1) << width);
}

/// Narrow values are below this: they stay positive as signed 16-bit numbers, even after adding 1.
inline constexpr std::uint32_t narrow_values = 0x7fff;

/// Marks a value without a high part. Used as a high part minus one, it adds nothing to the value.
template <class High>
inline constexpr High no_high = static_cast<High>(~High{0});

/// The greatest high part minus one, for slots of `width` bits (at most 13), of a value that plus one fits in 15 bits.
constexpr std::uint32_t greatest_short_high(unsigned width) { return (0x7fffu >> width) - 2; }

/// Exceptions handled per step, even if fewer are left: a branch for each would cost more.
inline constexpr unsigned exceptions_at_a_time = 8;

/// Space for `size` values of an exception stream, plus what PlacedHighs::place() reads before them.
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

/// The high parts minus one of the n values of a run.
template <class High>
class PlacedHighs {
 public:
  /// Places `count` exceptions from arrays held by ExceptionValues. Returns false if a position is not below n, which
  /// is at most max_block_size.
  bool place(const High* gaps, const High* highs, unsigned count, unsigned n) {
    constexpr int step = exceptions_at_a_time;
    for (unsigned i = 0; i < n; i += 32) std::memset(all_.data() + lead + i, 0xff, 32 * sizeof(High));  // no_high
    // Starts with padding zeros before the first gap, so that the last step is full. They go to positions before 0.
    std::int64_t e = -static_cast<int>(-count % step), sum = 0;  // the sum of gaps: the positions less e
    for (High* to = all_.data() + lead + e; e < std::int64_t{count}; e += step, to += step) {
      // A local prefix sum, so that the next step doesn't wait for it.
      std::array<std::int64_t, step> sums{gaps[e]};
      for (int j = 1; j < step; ++j) sums[j] = sums[j - 1] + gaps[e + j];
      if (sum + sums[step - 1] + e + step > n) return false;  // the last position is the greatest
      for (int j = 0; j < step; ++j) to[sum + sums[j] + j] = highs[e + j];
      sum += sums[step - 1];
    }
    return true;
  }

  /// Write access for kernels.
  High* data() { return all_.data() + lead; }
  const High* data() const { return all_.data() + lead; }

 private:
  static constexpr std::size_t lead = 64 / sizeof(High);
  alignas(64) std::array<High, lead + max_block_size> all_;
};

}  // namespace quern
