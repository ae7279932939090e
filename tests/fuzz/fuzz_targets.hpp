#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace quern::fuzz {

/// The type of LLVMFuzzerTestOneInput, libFuzzer's entry point; each fuzz_NAME.cpp defines one.
using FuzzFunction = int (*)(const std::uint8_t* data, std::size_t size);

struct FuzzTarget {
  std::string_view name;
  FuzzFunction run;
};

/// The targets of all sources fuzz_NAME.cpp, by name.
std::span<const FuzzTarget> fuzz_targets();

/// The target of that name, or nullptr.
inline FuzzFunction find_fuzz_target(std::string_view name) {
  for (const FuzzTarget& target : fuzz_targets())
    if (target.name == name) return target.run;
  return nullptr;
}

}  // namespace quern::fuzz
