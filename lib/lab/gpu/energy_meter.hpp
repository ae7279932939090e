#pragma once
#include <memory>
#include <optional>
#include <span>

#include "quern/gpu/device/device_info.hpp"

namespace quern {

/// The energy that GPUs consume, by NVML's counters (nvmlDeviceGetTotalEnergyConsumption). The library is loaded at run
/// time; without it, or without a GPU's counter, there are no figures.
class EnergyMeter {
 public:
  explicit EnergyMeter(std::span<const GpuInfo> gpus);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  /// Joules that the first `gpus` of them have consumed since the driver was loaded; none if they can't be read. The
  /// counters change about ten times per second: measured work should take a second.
  std::optional<double> joules(std::size_t gpus) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace quern
