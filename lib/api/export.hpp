#pragma once

#ifdef __FAST_MATH__
#error \
    "Quern refuses -ffast-math (and -Ofast): linking with it changes the arithmetic of the whole process, but scores are defined bit for bit; compile and link without it"
#endif

/// Symbol visibility of the shared library.
#define QUERN_API __attribute__((visibility("default")))
#define QUERN_INTERNAL __attribute__((visibility("hidden")))

/// Quern as a library. Unless they say otherwise, functions throw only quern::api::Error. Objects are handles; no
/// arithmetic of scores is in these headers.
namespace quern::api {

/// The library's version, such as "0.1.0".
QUERN_API const char* version() noexcept;

}  // namespace quern::api
