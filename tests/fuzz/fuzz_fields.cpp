#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/fields_file.hpp"

#include "container_fuzzing.hpp"
#include "ignore_corruption.hpp"

/// Reading a field file stays in bounds for any contents of its sections; if it passes verify, every value can be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  constexpr std::uint64_t max_read = 20;
  try {
    const FieldsReader fields(ContainerReader(
        fuzz::container_around({data, size}, FileKind::fields, fuzz::fields_sections), FileKind::fields));
    bool is_sound = false;
    fuzz::ignore_corruption([&] {
      fields.verify_contents(default_resources());
      is_sound = true;
    });
    FieldBuffers buffers;
    for (std::uint64_t group = 0; group < std::min(fields.num_groups(), max_read); ++group) {
      for (std::size_t field = 0; field < fields.manifest().names.size(); ++field) {
        bool is_read = false;
        fuzz::ignore_corruption([&] {
          for (const FieldValue& value : fields.values(field, group, buffers))
            if (value.text.size() > max_kept_text_bytes) std::abort();
          is_read = true;
        });
        if (is_sound && !is_read) std::abort();
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
