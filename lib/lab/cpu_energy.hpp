#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace quern {

/// The energy that a machine's processors consume, by the kernel's counters (powercap, Intel's RAPL, which AMD's
/// processors have as well). Virtual machines lack them, and kernels from 5.10 on let only root read them: then there
/// are no figures.
class CpuEnergyMeter {
 public:
  explicit CpuEnergyMeter(const std::filesystem::path& counters = "/sys/class/powercap");

  /// Begins to measure.
  void start();
  /// Joules of all packages since start(); none if they can't be read. A counter may have begun anew once in the
  /// meantime, which takes minutes at full load.
  std::optional<double> joules() const;

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range_uj = 0;  ///< it begins anew behind this
    std::optional<std::uint64_t> at_start_uj;
  };

  std::vector<Package> packages_;
};

}  // namespace quern
