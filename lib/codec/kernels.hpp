#pragma once
#include <cstddef>
#include <cstdint>

#include "quern/core/simd_level.hpp"

/// The inner loops of decoding, written once for each SimdLevel. All give the same values.
namespace quern {

/// Values past the n of a run that unpacking may write. (over_write_values allows decoders more.)
inline constexpr unsigned unpack_slack = 15;

/// One level's loops. Runs of n values of `width` bits (0 to 32) begin at `bit_offset`, packed as bit_packing.hpp
/// says; unpacking reads up to 64 bytes from the last value's first byte on, and writes up to unpack_slack values past
/// the n. The *_patched ones add to each value what is in `out` at its place.
struct Kernels {
  using Unpack = void (*)(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                          std::uint32_t* out);
  using UnpackDocids = void (*)(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                                std::uint32_t before, std::uint32_t* out);

  Unpack unpack;
  /// Adds 1 to each.
  Unpack unpack_freqs, unpack_freqs_patched;
  /// Takes the values for gaps: out[i] = out[i-1] + value + 1 (modulo 2^32), where `before` precedes the first.
  UnpackDocids unpack_docids, unpack_docids_patched;

  /// Fills out[0] to out[n-1] with what `count` (at most n) exceptions add, as patch_of() says, and zeros between.
  /// Returns false if an exception's position, from the gaps between them, isn't below n. Reads up to 15 gaps and
  /// high parts past the count, and writes up to unpack_slack values past the n.
  bool (*place_patches)(const std::uint32_t* gaps, const std::uint32_t* highs, unsigned count, unsigned width,
                        unsigned n, std::uint32_t* out);

  /// Writes `count` values of Simple16's words and up to simple16_decode_slack more; returns how many of the `size`
  /// words they take, and more than `size` where they don't end before. Reads up to 12 bytes past the words.
  std::size_t (*simple16)(const std::uint32_t* words, std::size_t size, unsigned count, std::uint32_t* out);

  /// Writes where the first n zeros of `bits` bits from `bit_offset` on stand, counted from there, to `positions`,
  /// which has space for n + unary_slack; returns whether there are this many. Reads at most 7 bytes past the bits.
  bool (*find_terminators)(const std::uint32_t* words, std::uint64_t bit_offset, std::uint64_t bits, unsigned n,
                           std::uint32_t* positions);
};

/// Of simd_level().
const Kernels& kernels();

/// One of simd_levels().
const Kernels& kernels_of(SimdLevel level);

extern const Kernels portable_kernels;
#if defined(__AVX2__)
extern const Kernels avx2_kernels, avx512_kernels;
#endif

}  // namespace quern
