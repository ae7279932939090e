#include <cstdint>
#include <filesystem>
#include <memory>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/container.hpp"
#include "quern/io/checksum.hpp"

namespace {

/// Opens bytes as every kind, and reads everything that opening promises to be in bounds.
void read_container(quern::ByteView bytes) {
  using namespace quern;
  File file = File::anonymous(std::filesystem::temp_directory_path().string());
  file.write_at(0, bytes);
  const auto shared = std::make_shared<const File>(std::move(file));
  for (const FileKind kind : {FileKind::collection, FileKind::order, FileKind::index}) {
    try {
      const ContainerReader reader(shared, kind);
      std::uint64_t sum = reader.content_hash();
      for (const SectionInfo& section : reader.sections())
        for (const std::uint8_t byte : reader.view(section.name)) sum += byte;
      [[maybe_unused]] volatile std::uint64_t kept = sum;  // keeps the compiler from removing the reads
      if (reader.has("manifest")) reader.manifest();
      reader.verify(default_resources());
    } catch (const Error&) {
    }
  }
}

}  // namespace

/// The bytes unchanged, and with recomputed checksums of header and table, like an attacker.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  Bytes bytes(data, data + size);
  read_container(bytes);
  if (size < 64) return 0;
  store_le(bytes.data() + 16, std::uint64_t{size});
  const auto table_offset = load_le<std::uint64_t>(bytes.data() + 24);
  if (table_offset <= size) store_le(bytes.data() + 40, xxh3(ByteView(bytes).subspan(table_offset)));
  store_le(bytes.data() + 56, xxh3(ByteView(bytes).first(56)));
  read_container(bytes);
  return 0;
}
