#pragma once
#include <filesystem>
#include <string>

#include "quern/core/resources.hpp"

namespace quern::fuzz {

/// The folder for temporary files of fuzzers: $TMPDIR, which should be in memory.
inline std::string work_folder() { return std::filesystem::temp_directory_path().string(); }

/// A stage's resources in a fuzzer: one thread, so that equal inputs take equal steps.
inline Resources fuzz_resources() {
  Resources resources;
  resources.memory_bytes = std::uint64_t{64} << 20;
  resources.tmp_folder = work_folder();
  return resources;
}

}  // namespace quern::fuzz
