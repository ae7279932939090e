#pragma once
#include <cstddef>

namespace quern::testing {

/// Whether executable and tests are built with AddressSanitizer or ThreadSanitizer, which take more memory and time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// How many of a test's inputs are tried. Under a sanitizer, which makes each several times as slow and looks for other
/// faults than wrong results, a quarter of them.
constexpr std::size_t rounds(std::size_t all) { return sanitized ? (all + 3) / 4 : all; }

}  // namespace quern::testing
