#include "quern/lab/measurement.hpp"

#include <fstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace quern {

bool reset_peak_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << '5' << std::flush);
}

std::optional<std::uint64_t> peak_memory_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string key; file >> key;) {
    std::uint64_t kilobytes = 0;
    if (key == "VmHWM:" && file >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace quern
