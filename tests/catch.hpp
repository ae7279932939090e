#pragma once
// Catch2 2.13 (Debian 12) has one header, Catch2 3 (Debian 13) another.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
// Names of Catch2 2.13.
using Catch::Approx;
namespace Catch {
inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
