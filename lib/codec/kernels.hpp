#pragma once
#include "quern/core/simd_level.hpp"

/// The inner loops of decoding, implemented once per SimdLevel. All levels give the same values.
namespace quern {

struct HighParts;

/// The values that decoding words of Simple16 gave.
enum class Simple16Values {
  narrow,  ///< all are narrow
  wide,    ///< a greater one may be among them, so the output is useless
  cut,     ///< the words end too early
};

/// Values past the n of a run that unpacking may write; over_write_values allows decoders more.
inline constexpr unsigned unpack_slack = 15;

/// Positions up to this limit, plus the bits that kernels examine past them, fit in 16 bits.
inline constexpr std::uint32_t max_near_bits = 0xff00;

/// The loops of one level. Runs of n values of `width` bits (0 to 32) begin at `bit_offset`, packed as in
/// bit_packing.hpp. Unpacking reads up to 64 bytes from the last value's first byte on, and writes up to unpack_slack
/// values past the n. The *_patched functions add patch_of(highs[i], width) to value i; n is at most max_block_size,
/// `highs` is readable up to the next multiple of 32 past n, and 16-bit highs are narrow or no_high.
struct Kernels {
  using Unpack = void (*)(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                          std::uint32_t* out);
  using UnpackDocids = void (*)(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                                std::uint32_t before, std::uint32_t* out);
  template <class High>
  using UnpackPatched = void (*)(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                                 const High* highs, std::uint32_t* out);
  template <class High>
  using UnpackDocidsPatched = void (*)(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                                       std::uint32_t before, const High* highs, std::uint32_t* out);

  using AddQuotients = void (*)(const std::uint16_t* positions, unsigned width, unsigned n, std::uint32_t* out);

  Unpack unpack;
  /// Adds 1 to each value.
  Unpack unpack_freqs;
  UnpackPatched<std::uint16_t> unpack_freqs_narrow;
  UnpackPatched<std::uint32_t> unpack_freqs_wide;
  /// Treats the values as gaps: out[i] = out[i-1] + value + 1 (modulo 2^32), where `before` precedes the first.
  UnpackDocids unpack_docids;
  UnpackDocidsPatched<std::uint16_t> unpack_docids_narrow;
  UnpackDocidsPatched<std::uint32_t> unpack_docids_wide;

  /// As above with high parts, for slots of at most 30 bits.
  void (*unpack_freqs_with_highs)(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                                  const HighParts& parts, std::uint32_t* out);
  void (*unpack_docids_with_highs)(const std::uint32_t* words, std::uint64_t bit_offset, unsigned width, unsigned n,
                                   std::uint32_t before, const HighParts& parts, std::uint32_t* out);

  /// Writes `count` values of a Simple16 stream and up to simple16::decode_slack more, if all are narrow (below
  /// narrow_values). Reads up to 60 bytes past the `size` words.
  Simple16Values (*simple16)(const std::uint32_t* words, std::size_t size, unsigned count, std::uint16_t* out);

  /// Writes the positions, counted from `bit_offset`, of the first n zeros of `bits` bits (at most max_near_bits) to
  /// `positions`, which has space for n + unary_slack; returns whether there are n. Reads at most 11 bytes past the
  /// bits.
  bool (*find_terminators)(const std::uint32_t* words, std::uint64_t bit_offset, std::uint32_t bits, unsigned n,
                           std::uint16_t* positions);
  /// Adds to each of n values the quotient that ends at its terminator, times 2^width; positions[-1] is -1. Reads and
  /// writes up to unpack_slack values past the n.
  AddQuotients add_quotients;
  /// Adds to each value the sum of all quotients up to its own.
  AddQuotients add_summed_quotients;
};

/// The patched kernel for either type of high parts.
inline auto unpack_freqs_patched(const Kernels& kernels, const std::uint16_t*) { return kernels.unpack_freqs_narrow; }
inline auto unpack_freqs_patched(const Kernels& kernels, const std::uint32_t*) { return kernels.unpack_freqs_wide; }
inline auto unpack_docids_patched(const Kernels& kernels, const std::uint16_t*) { return kernels.unpack_docids_narrow; }
inline auto unpack_docids_patched(const Kernels& kernels, const std::uint32_t*) { return kernels.unpack_docids_wide; }

/// The kernels of simd_level().
const Kernels& kernels();

/// The kernels of a level among simd_levels().
const Kernels& kernels_of(SimdLevel level);

extern const Kernels portable_kernels;
#if defined(__AVX2__)
extern const Kernels avx2_kernels, avx512_kernels;
#endif

}  // namespace quern
