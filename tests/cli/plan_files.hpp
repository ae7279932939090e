#pragma once
#include <cstdint>
#include <string>

/// Plan files for tests of the executable, made without a planner.
namespace quern::testing {

/// Writes small_plan() for the index at a path, with `last_blocks` blocks of its last list.
void write_plan(const std::string& index, const std::string& path, std::uint32_t last_blocks = 1);

}  // namespace quern::testing
