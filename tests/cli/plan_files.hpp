#pragma once
#include <cstdint>
#include <string>

/// Plan files for tests of the executable, written without a planner.
namespace quern::testing {

/// Writes small_plan() for the index at a path; the last list has `last_blocks` blocks.
void write_plan(const std::string& index, const std::string& path, std::uint32_t last_blocks = 1);

}  // namespace quern::testing
