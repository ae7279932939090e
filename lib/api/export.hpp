#pragma once

#ifdef __FAST_MATH__
#error \
    "Quern refuses -ffast-math (and -Ofast): a program linked so changes the arithmetic of the whole process, and scores are defined bit by bit; compile and link without it"
#endif

/// What the shared library shows of itself.
#define QUERN_API __attribute__((visibility("default")))
#define QUERN_INTERNAL __attribute__((visibility("hidden")))

/// Quern as a library. All functions may throw quern::api::Error and nothing else, unless they say so; objects are
/// handles of what is hidden behind them, and no arithmetic of scores is done in these headers.
namespace quern::api {

/// The library's version, as in "0.1.0".
QUERN_API const char* version() noexcept;

}  // namespace quern::api
