#include "quern/core/resources.hpp"

#include <unistd.h>

#include <thread>

namespace quern {

Progress& ProgressPointer::no_progress() {
  static NoProgress no_progress;
  return no_progress;
}

Resources default_resources() {
  Resources resources;
  resources.threads = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t machine_bytes =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  resources.memory_bytes = std::clamp<std::uint64_t>(machine_bytes / 4, 64 << 20, std::uint64_t{1} << 30);
  return resources;
}

}  // namespace quern
