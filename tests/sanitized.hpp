#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace quern::testing {

/// Whether executable and tests are built with AddressSanitizer or ThreadSanitizer, which need more memory and time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// The number of a test's inputs to try: QUERN_TEST_ROUNDS times `all` if that variable is set. Under a sanitizer,
/// which makes each several times as slow and looks for faults other than wrong results, the default is a quarter of
/// them.
inline std::size_t rounds(std::size_t all) {
  static const double scale = [] {
    const char* const text = std::getenv("QUERN_TEST_ROUNDS");
    return text != nullptr ? std::atof(text) : sanitized ? 0.25 : 1.0;
  }();
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(static_cast<double>(all) * scale)));
}

}  // namespace quern::testing
