#include "quern/synth/freq_tables.hpp"

#include <algorithm>
#include <cmath>

namespace quern {

FreqTables::FreqTables() {
  constexpr double least = 0.04, greatest = 100;  // means less one
  for (int level = 0; level < levels; ++level) {
    const double above_one = least * std::pow(greatest / least, level / (levels - 1.0));
    const double log_q = std::log(above_one / (1 + above_one));
    // Entry i stands for the chances from i / entries to (i + 1) / entries; entry 0 for what the tail begins with.
    for (std::uint32_t i = 0; i < entries; ++i) {
      const double chance = (i == 0 ? 1 : i + 0.5) / entries;
      tables_[static_cast<std::size_t>(level)][i] =
          static_cast<std::uint8_t>(std::min(255.0, 1 + std::log(chance) / log_q));
    }
  }
}

}  // namespace quern
