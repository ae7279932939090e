#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace quern {

/// The environment of a measurement, without which figures cannot be compared.
struct Environment {
  std::string processor;           ///< model name; empty if the system does not report it
  unsigned cores = 0;              ///< available to this process
  std::uint64_t memory_bytes = 0;  ///< of the machine
  std::string system;              ///< kernel and its release
  std::string compiler;
  std::string build;  ///< type and flags
  std::string simd_level;
  std::string version;                                ///< Quern's
  std::string date;                                   ///< today in UTC, such as 2026-11-20
  std::string command_line;                           ///< of this process
  std::array<double, 3> load_average = {-1, -1, -1};  ///< over 1, 5 and 15 minutes; -1 if unknown
};

/// The current environment. Members that the system does not report stay empty. Does not throw.
Environment describe_environment();

/// Measures the energy of the machine's processors by the kernel's counters (powercap, RAPL of Intel and AMD). There
/// are no figures on virtual machines, which lack the counters, and on kernels from 5.10 on without root.
class CpuEnergyMeter {
 public:
  explicit CpuEnergyMeter(const std::filesystem::path& counters = "/sys/class/powercap");

  /// Starts measuring.
  void start();
  /// Joules of all packages since start(); empty if they can't be read. A counter may wrap around at most once
  /// meanwhile, which takes minutes at full load.
  std::optional<double> joules() const;

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range_uj = 0;  ///< the counter wraps around after this
    std::optional<std::uint64_t> at_start_uj;
  };

  std::vector<Package> packages_;
};

}  // namespace quern
