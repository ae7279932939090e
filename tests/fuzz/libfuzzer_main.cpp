#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fuzz_targets.hpp"

namespace {

quern::fuzz::FuzzFunction target = nullptr;

}  // namespace

/// Chooses the target by the executable's name, fuzz_NAME, since in some modes libFuzzer restarts itself with the same
/// name but other arguments.
extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  const std::string_view path = (*argv)[0];
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("fuzz_")) target = quern::fuzz::find_fuzz_target(name.substr(5));
  if (target == nullptr) {
    std::fprintf(stderr, "%s: no fuzz target has this name; start one of:\n", path.data());
    for (const auto& known : quern::fuzz::fuzz_targets())
      std::fprintf(stderr, "  fuzz_%.*s\n", static_cast<int>(known.name.size()), known.name.data());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return target(data, size); }
