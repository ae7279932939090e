#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace quern {

/// Where and with what something was measured; without it, figures cannot be compared.
struct Environment {
  std::string processor;           ///< the model's name; empty if the system does not report it
  unsigned cores = 0;              ///< available to this process
  std::uint64_t memory_bytes = 0;  ///< of the machine
  std::string system;              ///< kernel and its release
  std::string compiler;
  std::string build;  ///< type and flags
  std::string simd_level;
  std::string version;                                ///< Quern's
  std::string date;                                   ///< today in UTC, as 2026-11-20
  std::string command_line;                           ///< of this process
  std::array<double, 3> load_average = {-1, -1, -1};  ///< over 1, 5 and 15 minutes; -1 if unknown
};

/// The current environment. Members that the system does not report stay empty; throws nothing.
Environment describe_environment();

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
