#include "quern/core/bm25.hpp"

namespace quern {

void check_impact_settings(const ImpactSettings& settings) {
  check_range("bits of impacts", settings.bits, min_quantize_bits, max_quantize_bits);
  if (settings.scale) check_range("the impact scale", *settings.scale, min_impact_scale, max_impact_scale);
}

}  // namespace quern
