#pragma once
// Catch2 2.13 (Debian 12) has one header, Catch2 3 (Debian 13) another.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // as Catch2 2.13 has it
#else
#include <catch2/catch.hpp>
#endif
