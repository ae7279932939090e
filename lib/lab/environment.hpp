#pragma once
#include <array>
#include <cstdint>
#include <string>

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

}  // namespace quern
