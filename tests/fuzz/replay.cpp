#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz_targets.hpp"

/// Runs a fuzz target once on every file of a folder, as libFuzzer does at its start, but without libFuzzer.
int main(int argc, char** argv) {
  const auto target = argc == 3 ? quern::fuzz::find_fuzz_target(argv[1]) : nullptr;
  if (target == nullptr) {
    std::fprintf(stderr, "usage: %s TARGET FOLDER, where TARGET is one of\n", argv[0]);
    for (const auto& known : quern::fuzz::fuzz_targets())
      std::fprintf(stderr, "  %.*s\n", static_cast<int>(known.name.size()), known.name.data());
    return 2;
  }
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++seeds;
  }
  std::printf("%d seeds\n", seeds);
  return seeds > 0 ? 0 : 1;
}
