#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/texts_file.hpp"

#include "container_fuzzing.hpp"
#include "ignore_corruption.hpp"

/// For any contents of a text file's sections, reading stays in bounds and pieces stay small. If it passes verify,
/// every text can be read, and together they have as many bytes as the manifest says.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  constexpr docid_t max_read = 300;
  try {
    const TextsReader texts(
        ContainerReader(fuzz::container_around({data, size}, FileKind::texts, fuzz::texts_sections), FileKind::texts));
    bool is_sound = false;
    fuzz::ignore_corruption([&] {
      texts.verify_contents(default_resources());
      is_sound = true;
    });
    TextBuffers buffers;
    std::uint64_t bytes = 0;
    for (docid_t docid = 0; docid < std::min(texts.num_documents(), max_read); ++docid) {
      bool is_read = false;
      fuzz::ignore_corruption([&] {
        texts.read(docid, buffers, [&](std::string_view piece) {
          if (piece.size() > text_frame_bytes) std::abort();
          bytes += piece.size();
        });
        is_read = true;
      });
      if (is_sound && !is_read) std::abort();
    }
    if (is_sound && texts.num_documents() <= max_read && bytes != texts.manifest().text_bytes) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
