#include "quern/codec/simple16.hpp"

#include <algorithm>

#include "quern/codec/byte_lanes.hpp"
#include "quern/codec/kernel_parts.hpp"
#include "quern/core/error.hpp"

namespace quern {
namespace {

/// For each way and value: the largest width that fits. Values that a way doesn't hold fit anything.
constexpr auto make_max_widths() {
  std::array<std::array<std::uint8_t, 32>, 16> max_widths{};
  for (unsigned way = 0; way < 16; ++way) {
    unsigned i = 0;
    for (const simple16::Run& run : simple16::ways[way])
      for (unsigned j = 0; j < run.count; ++j, ++i) max_widths[way][i] = run.width;
    for (; i < 32; ++i) max_widths[way][i] = 255;
  }
  return max_widths;
}

constexpr auto max_widths = make_max_widths();

/// The first way whose values all fit. The last way takes what no other does.
unsigned fitting_way(const std::uint8_t* widths) {
  for (unsigned way = 0; way < 15; ++way)
    if (lanes_within(widths, max_widths[way].data())) return way;
  return 15;
}

[[noreturn]] void throw_truncated() { throw CorruptBlock("a block's Simple16 words end too early"); }

}  // namespace

unsigned simple16_plan(const std::uint8_t* widths, unsigned count, std::uint8_t* ways) {
  unsigned words = 0;
  for (unsigned i = 0; i < count; i += simple16::counts[ways[words++]])
    ways[words] = static_cast<std::uint8_t>(fitting_way(widths + i));
  return words;
}

void simple16_encode(const std::uint32_t* values, unsigned count, const std::uint8_t* ways, std::uint32_t* to) {
  for (unsigned i = 0; i < count;) {
    const unsigned way = *ways++, end = std::min<unsigned>(count, i + simple16::counts[way]);
    std::uint32_t word = way << 28;
    for (unsigned j = 0; i < end; ++i, ++j) word |= values[i] << simple16::cuts.shifts[way][j];
    *to++ = word;
  }
}

std::size_t simple16_skip(WordView from, unsigned count) {
  std::size_t words = 0;
  for (unsigned i = 0; i < count; i += simple16::counts[from[words++] >> 28])
    if (words == from.size()) throw_truncated();
  return words;
}

bool simple16_decode_narrow(const Kernels& kernels, WordView from, unsigned count, std::uint16_t* out) {
  if (count == 0) return true;
  const Simple16Values values = kernels.simple16_narrow(from.data(), from.size(), count, out);
  if (values == Simple16Values::cut) throw_truncated();
  return values == Simple16Values::narrow;
}

std::size_t simple16_decode(const Kernels& kernels, WordView from, unsigned count, std::uint32_t* out) {
  const std::size_t words = kernels.simple16(from.data(), from.size(), count, out);
  if (words > from.size()) throw_truncated();
  return words;
}

}  // namespace quern
