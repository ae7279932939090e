#pragma once

namespace quern::testing {

/// Whether executable and tests are built with AddressSanitizer or ThreadSanitizer, which take more memory and time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace quern::testing
