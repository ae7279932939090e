#pragma once
#include <memory>
#include <optional>
#include <span>

#include "quern/gpu/device/device_info.hpp"

namespace quern {

/// What GPUs take of the power line, by the counters that NVML reads (nvmlDeviceGetTotalEnergyConsumption). The library
/// is looked for at run time: where it, or a GPU's counter, is missing, there are no figures.
class EnergyMeter {
 public:
  explicit EnergyMeter(std::span<const GpuInfo> gpus);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  /// Joules that the first `gpus` of them have taken since their driver was loaded; none where they can't be read. The
  /// counters move some ten times a second: what is measured should take a second.
  std::optional<double> joules(std::size_t gpus) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace quern
