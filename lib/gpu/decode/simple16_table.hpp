#pragma once
#include <cstdint>

#include "quern/codec/simple16.hpp"

/// How the words of Simple16 are cut into values: the table of lib/codec/simple16.hpp, small enough for a GPU's first
/// cache. The decoders by warp and by thread share it.
namespace quern::gpu::simple16 {

/// For each way and value: by how much the word is shifted to the left, and then << 8 to the right, to leave the value.
/// At place 31 of a way: how many values a word holds.
struct Table {
  static constexpr unsigned words = 256;  ///< that it takes
  std::uint16_t cuts[16][32];
};
constexpr Table make_table() {
  Table table{};
  for (unsigned way = 0; way < 16; ++way) {
    unsigned i = 0, bit = 0;
    for (const quern::simple16::Run& run : quern::simple16::ways[way])
      for (unsigned j = 0; j < run.count; ++j, bit += run.width)
        table.cuts[way][i++] = static_cast<std::uint16_t>((32 - bit - run.width) | (32 - run.width) << 8);
    table.cuts[way][31] = quern::simple16::counts[way];
  }
  return table;
}

}  // namespace quern::gpu::simple16
