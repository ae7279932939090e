#include <cmath>
#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/statistics_file.hpp"

#include "container_fuzzing.hpp"

/// For any contents of a scale file's sections, the value read is a term score, and survives a write and a re-read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  try {
    const Scales scales = read_scales(ContainerReader(
        fuzz::container_around({data, size}, FileKind::scales, fuzz::scales_sections), FileKind::scales));
    if (!(scales.top >= 0) || !std::isfinite(scales.top)) std::abort();
    auto file = std::make_shared<File>(File::anonymous(default_resources().tmp_folder));
    write_scales(*file, scales);
    const Scales again = read_scales(ContainerReader(file, FileKind::scales));
    if (again.top != scales.top || again.splits != scales.splits) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
