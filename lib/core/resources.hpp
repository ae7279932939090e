#pragma once
#include <cstdint>
#include <string>

#include "quern/core/progress.hpp"

namespace quern {

/// Threads, memory and folder that a stage may use. The bytes that it writes do not depend on them.
struct Resources {
  unsigned threads = 1;
  /// Budget for buffers and tables; the process itself (code, stacks, libraries) may take 64 MB more.
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  /// Folder for work files.
  std::string tmp_folder = ".";
  Progress* progress = nullptr;  ///< never null: default_resources() and the tools set it
};

/// All cores, 1 GiB (less on a smaller machine), no progress.
Resources default_resources();

}  // namespace quern
