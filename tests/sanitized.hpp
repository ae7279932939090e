#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace quern::testing {

/// Whether executable and tests are built with AddressSanitizer or ThreadSanitizer, which take more memory and time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// How many of a test's inputs are tried: QUERN_TEST_ROUNDS times `all`, where that variable is set. Under a sanitizer,
/// which makes each several times as slow and looks for other faults than wrong results, a quarter of them by default.
inline std::size_t rounds(std::size_t all) {
  static const double scale = [] {
    const char* const text = std::getenv("QUERN_TEST_ROUNDS");
    return text != nullptr ? std::atof(text) : sanitized ? 0.25 : 1.0;
  }();
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(static_cast<double>(all) * scale)));
}

}  // namespace quern::testing
