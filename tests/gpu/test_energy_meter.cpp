#include <vector>

#include "quern/lab/gpu/energy_meter.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("without GPUs no energy can be read, with or without NVML", "[energy_meter]") {
  const EnergyMeter meter({});
  CHECK_FALSE(meter.joules(0));
  CHECK_FALSE(meter.joules(1));
}

TEST_CASE("energy only grows", "[gpu][energy_meter]") {
  const std::vector<GpuInfo> gpus = list_gpus();
  const EnergyMeter meter(gpus);
  for (std::size_t i = 1; i <= gpus.size(); ++i) {
    const auto before = meter.joules(i), after = meter.joules(i);
    CHECK(before.has_value() == after.has_value());
    if (before && after) CHECK(*before <= *after);
  }
  CHECK_FALSE(meter.joules(gpus.size() + 1));
}

}  // namespace quern
