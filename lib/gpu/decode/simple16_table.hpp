#pragma once
#include <cstdint>

#include "quern/codec/simple16.hpp"

/// How the words of Simple16 are cut, small enough for a GPU's first cache.
namespace quern::gpu::simple16 {

/// For each way and value: shift, and width << 8. At place 31 of a way: how many values a word holds.
struct Table {
  std::uint16_t entries[16][32];
};
constexpr Table make_table() {
  Table table{};
  for (unsigned way = 0; way < 16; ++way) {
    unsigned i = 0, bit = 0;
    for (const quern::simple16::Run& run : quern::simple16::ways[way])
      for (unsigned j = 0; j < run.count; ++j, bit += run.width)
        table.entries[way][i++] = static_cast<std::uint16_t>(bit | run.width << 8);
    table.entries[way][31] = quern::simple16::counts[way];
  }
  return table;
}

}  // namespace quern::gpu::simple16
