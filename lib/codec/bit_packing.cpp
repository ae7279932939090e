#include "quern/codec/bit_packing.hpp"

namespace quern {
namespace {

/// Packs groups of values with one store per group: a group and a partial byte fit in 64 bits.
template <unsigned group>
void pack_groups(const std::uint32_t* values, unsigned n, unsigned width, BitAppender to) {
  const std::uint32_t mask = low_mask(width);
  unsigned i = 0;
  for (; i + group <= n; i += group) {
    std::uint64_t bits = 0;
    for (unsigned j = 0; j < group; ++j) bits |= std::uint64_t{values[i + j] & mask} << (j * width);
    to.append(bits, group * width);
  }
  for (; i < n; ++i) to.append(values[i] & mask, width);
}

}  // namespace

void pack(const std::uint32_t* values, unsigned n, unsigned width, std::uint32_t* words, std::uint64_t bit_offset) {
  if (width == 0 || n == 0) return;
  const BitAppender to(words, bit_offset);
  if (width <= 14)
    pack_groups<4>(values, n, width, to);
  else if (width <= 28)
    pack_groups<2>(values, n, width, to);
  else
    pack_groups<1>(values, n, width, to);
}

}  // namespace quern
