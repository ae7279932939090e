#pragma once
#include "quern/gpu/device/device_info.hpp"

namespace quern {

/// Reads the energy of GPUs from NVML's counters (nvmlDeviceGetTotalEnergyConsumption). Loads the library at run time;
/// without it, or without a GPU's counter, there are no figures.
class EnergyMeter {
 public:
  explicit EnergyMeter(std::span<const GpuInfo> gpus);
  ~EnergyMeter();

  /// Joules that the first `gpus` GPUs have consumed since the driver was loaded; empty if they can't be read. The
  /// counters change about ten times per second, so measured work should take a second.
  std::optional<double> joules(std::size_t gpus) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace quern
