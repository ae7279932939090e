#pragma once
#include <cstdint>
#include <optional>

namespace quern {

/// Hands unused memory back to the system, and lets peak_memory_bytes() begin anew. False where the system can't.
bool reset_peak_memory();

/// The most memory that this process has held since the last reset; nothing where the system doesn't tell.
std::optional<std::uint64_t> peak_memory_bytes();

}  // namespace quern
