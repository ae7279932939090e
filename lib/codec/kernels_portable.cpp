#include "quern/codec/newpfd.hpp"

namespace quern {
namespace {

template <std::uint32_t addend>
void unpack(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, std::uint32_t* out) {
  for (unsigned i = 0; i < n; ++i, bit += width) out[i] = (width == 0 ? 0 : unpack_one(words, bit, width)) + addend;
}

/// Replaces each value by `before` plus the sum of the values up to it.
void sum_up(std::uint32_t before, unsigned n, std::uint32_t* out) {
  for (unsigned i = 0; i < n; ++i) out[i] = before += out[i];
}

template <class High>
void unpack_freqs_patched(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, const High* highs,
                          std::uint32_t* out) {
  unpack<1>(words, bit, width, n, out);
  for (unsigned i = 0; i < n; ++i)
    if (highs[i] != no_high<High>) out[i] += patch_of(highs[i], width);
}

void unpack_docids(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, std::uint32_t before,
                   std::uint32_t* out) {
  unpack<1>(words, bit, width, n, out);
  sum_up(before, n, out);
}

template <class High>
void unpack_docids_patched(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                           std::uint32_t before, const High* highs, std::uint32_t* out) {
  unpack_freqs_patched(words, bit, width, n, highs, out);
  sum_up(before, n, out);
}

void unpack_freqs_with_highs(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                             const HighParts& parts, std::uint32_t* out) {
  std::array<std::uint16_t, max_block_size> highs;
  place_each_high(words, parts, highs.data());
  unpack<1>(words, bit, width, n, out);
  for (unsigned i = 0; i < n; ++i) out[i] += std::uint32_t{highs[i]} << width;
}

void unpack_docids_with_highs(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n,
                              std::uint32_t before, const HighParts& parts, std::uint32_t* out) {
  unpack_freqs_with_highs(words, bit, width, n, parts, out);
  sum_up(before, n, out);
}

Simple16Values simple16_values(const std::uint32_t* words, std::size_t size, unsigned count, std::uint16_t* out) {
  simple16::Reader reader(words, words + size);
  std::uint32_t value = 0, greatest = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (!reader(value)) return Simple16Values::cut;
    out[i] = static_cast<std::uint16_t>(value);
    greatest = std::max(greatest, value);
  }
  return greatest < narrow_values ? Simple16Values::narrow : Simple16Values::wide;
}

bool find_terminators(const std::uint32_t* words, std::uint64_t bit, std::uint32_t bits, unsigned n,
                      std::uint16_t* positions) {
  return find_each_terminator(words, bit, bits, n, positions);
}

}  // namespace

const Kernels portable_kernels = {unpack<0>,
                                  unpack<1>,
                                  unpack_freqs_patched<std::uint16_t>,
                                  unpack_freqs_patched<std::uint32_t>,
                                  unpack_docids,
                                  unpack_docids_patched<std::uint16_t>,
                                  unpack_docids_patched<std::uint32_t>,
                                  unpack_freqs_with_highs,
                                  unpack_docids_with_highs,
                                  simple16_values,
                                  find_terminators,
                                  add_each_quotient<std::uint16_t>,
                                  add_each_summed_quotient<std::uint16_t>};

const Kernels& kernels() { return kernels_of(simd_level()); }

const Kernels& kernels_of(SimdLevel level) {
#if defined(__AVX2__)
  if (level == SimdLevel::avx512) return avx512_kernels;
  if (level == SimdLevel::avx2) return avx2_kernels;
#endif
  static_cast<void>(level);
  return portable_kernels;
}

}  // namespace quern
