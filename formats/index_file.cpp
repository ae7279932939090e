#include "quern/formats/index_file.hpp"

#include <bit>

namespace quern {
namespace {

/// Greatest impacts are mostly from 1 / 4 to 1: their distance from the bits of 1 takes three bytes.
constexpr std::uint32_t bits_of_one = std::bit_cast<std::uint32_t>(1.0f), far_below_one = 0xffffff;

/// Steps in which a k-th best impact is a share of the greatest.
constexpr std::uint32_t shares = 255;

std::uint32_t share_of(float impact, float greatest) {
  const std::uint32_t whole = quantize_down(greatest);
  return whole == 0 ? 0 : quantize_down(impact) * shares / whole;
}

float impact_of(std::uint32_t share, float greatest) {
  return dequantize_down(static_cast<std::uint16_t>(quantize_down(greatest) * share / shares));
}

void put_greatest(Bytes& to, float greatest) {
  const auto bits = std::bit_cast<std::uint32_t>(greatest);
  const std::uint32_t distance = bits <= bits_of_one ? bits_of_one - bits : far_below_one;
  const bool is_near = distance < far_below_one;
  put_le(to, static_cast<std::uint16_t>(is_near ? distance : far_below_one));
  put_le(to, static_cast<std::uint8_t>((is_near ? distance : far_below_one) >> 16));
  if (!is_near) put_le(to, greatest);
}

float read_greatest(ByteReader& from) {
  const std::uint32_t low = from.le<std::uint16_t>(), distance = low | std::uint32_t{from.le<std::uint8_t>()} << 16;
  const float greatest = distance == far_below_one ? from.le<float>() : std::bit_cast<float>(bits_of_one - distance);
  if (!(greatest >= 0 && greatest <= 1)) from.fail("a list has an impossible maximum impact");
  return greatest;
}

}  // namespace

float stored_kth_impact(float impact, float greatest) { return impact_of(share_of(impact, greatest), greatest); }

void put_ranked_impacts(Bytes& to, const RankedImpacts& bounds, std::uint64_t df) {
  put_greatest(to, bounds[0]);
  for (std::size_t i = 1; i < stored_ranks.size(); ++i)
    if (df >= stored_ranks[i]) put_le(to, static_cast<std::uint8_t>(share_of(bounds[i], bounds[0])));
}

RankedImpacts read_ranked_impacts(ByteReader& from, std::uint64_t df) {
  RankedImpacts bounds{};
  bounds[0] = read_greatest(from);
  for (std::size_t i = 1; i < stored_ranks.size(); ++i)
    if (df >= stored_ranks[i]) bounds[i] = impact_of(from.le<std::uint8_t>(), bounds[0]);
  return bounds;
}

}  // namespace quern
