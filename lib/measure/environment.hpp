#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace quern {

/// Where and with what something was measured: a figure without it can't be compared with another.
struct Environment {
  std::string processor;           ///< the model's name, as the system gives it; empty where it doesn't
  unsigned cores = 0;              ///< that this process may use
  std::uint64_t memory_bytes = 0;  ///< of the machine
  std::string system;              ///< kernel and its release
  std::string compiler;
  std::string build;  ///< type and flags
  std::string simd_level;
  std::string version;                                ///< Quern's
  std::string date;                                   ///< of today, as in 2026-11-20, UTC
  std::string command_line;                           ///< that started this process
  std::array<double, 3> load_average = {-1, -1, -1};  ///< over 1, 5 and 15 minutes; -1 where it isn't known
};

/// What holds now. Parts that the system doesn't tell stay empty; nothing is thrown.
Environment describe_environment();

}  // namespace quern
