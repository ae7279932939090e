#include <algorithm>
#include <bit>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/kernel_parts.hpp"
#include "quern/codec/kernels.hpp"

namespace quern {
namespace {

template <bool patched, std::uint32_t addend>
void unpack(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, std::uint32_t* out) {
  for (unsigned i = 0; i < n; ++i, bit += width)
    out[i] = (patched ? out[i] : 0) + (width == 0 ? 0 : unpack_one(words, bit, width)) + addend;
}

template <bool patched>
void unpack_docids(const std::uint32_t* words, std::uint64_t bit, unsigned width, unsigned n, std::uint32_t before,
                   std::uint32_t* out) {
  unpack<patched, 1>(words, bit, width, n, out);
  for (unsigned i = 0; i < n; ++i) out[i] = before += out[i];
}

bool place_patches(const std::uint32_t* gaps, const std::uint32_t* highs, unsigned count, unsigned width, unsigned n,
                   std::uint32_t* out) {
  std::fill_n(out, n, 0);
  std::uint64_t next = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t position = next + gaps[i];
    if (position >= n) return false;
    out[position] = patch_of(highs[i], width);
    next = position + 1;
  }
  return true;
}

std::size_t simple16_words(const std::uint32_t* words, std::size_t size, unsigned count, std::uint32_t* out) {
  std::size_t used = 0;
  for (unsigned i = 0; i < count; ++used) {
    if (used == size) return size + 1;
    const unsigned way = words[used] >> 28, held = simple16::counts[way];
    for (unsigned j = 0; j < held; ++j)
      out[i + j] = words[used] >> simple16::cuts.shifts[way][j] & simple16::cuts.masks[way][j];
    i += held;
  }
  return used;
}

unsigned list_ones(std::uint64_t word, std::uint32_t base, std::uint32_t* positions) {
  unsigned count = 0;
  for (; word != 0; word &= word - 1) positions[count++] = base + static_cast<std::uint32_t>(std::countr_zero(word));
  return count;
}

}  // namespace

const Kernels portable_kernels = {
    unpack<false, 0>,    unpack<false, 1>, unpack<true, 1>, unpack_docids<false>,
    unpack_docids<true>, place_patches,    simple16_words,  search_terminators<list_ones>};

}  // namespace quern
