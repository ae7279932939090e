#pragma once
#include "quern/gpu/device/warp.cuh"
#include "quern/gpu/worker/batch_query.hpp"

/// The values of entries where scores are exact: impacts in steps, rounded up to 16 bits.
namespace quern::gpu {

/// The value of a posting with this frequency, of a document with this constant (K_d): an approximate quotient,
/// enlarged so that it is an upper bound.
__device__ inline std::uint32_t value_of_freq(float constant, std::uint32_t freq) {
  const float number = __uint2float_rn(freq);
  return min(__float2uint_ru(__fdividef(number, constant + number) * (value_steps * (1 + 0x1p-18f))), value_steps);
}

/// The only frequency that has this value; 0 if there are several, as there may be of hundreds of occurrences, or none.
/// Values rise with the frequency: the quotient's error is a hundredth of a step, and as long as neighbours differ by a
/// step, those after them differ by a third of one.
__device__ inline std::uint32_t freq_of_value(float constant, std::uint32_t value) {
  if (value == 0 || value >= value_steps) return 0;
  const float steps = __uint2float_rn(value);
  // The greatest whose impact is not above the value, but for rounding.
  auto freq = static_cast<std::uint32_t>(min(constant * steps / (value_steps - steps), 1e9f));
  if (freq == 0 || value_of_freq(constant, freq) < value) ++freq;
  const bool only = value_of_freq(constant, freq) == value && value_of_freq(constant, freq + 1) > value &&
                    (freq == 1 || value_of_freq(constant, freq - 1) < value);
  return only ? freq : 0;
}

}  // namespace quern::gpu
