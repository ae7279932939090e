#include "quern/core/resources.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace quern {

Resources default_resources() {
  static NoProgress no_progress;
  Resources resources;
  resources.threads = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t machine_bytes =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  resources.memory_bytes = std::clamp<std::uint64_t>(machine_bytes / 4, 64 << 20, std::uint64_t{1} << 30);
  resources.progress = &no_progress;
  return resources;
}

}  // namespace quern
