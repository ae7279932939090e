#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/index/shards/statistics.hpp"

#include "container_fuzzing.hpp"
#include "ignore_corruption.hpp"

/// For any contents of a statistics file's sections, reading and merging stay in bounds. Statistics that pass verify
/// merge to statistics that pass verify.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  try {
    std::vector<StatisticsReader> inputs;
    inputs.emplace_back(ContainerReader(
        fuzz::container_around({data, size}, FileKind::statistics, fuzz::statistics_sections), FileKind::statistics));
    bool is_sound = false;
    fuzz::ignore_corruption([&] {
      inputs.front().verify_contents();
      is_sound = true;
    });
    auto file = std::make_shared<File>(File::anonymous(default_resources().tmp_folder));
    merge_statistics(inputs, default_resources(), *file);
    const StatisticsReader merged(ContainerReader(file, FileKind::statistics));
    if (!is_sound) return 0;
    merged.verify_contents();
    if (merged.splits() != inputs.front().splits()) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
