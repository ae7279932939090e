#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/formats/container.hpp"

namespace quern::testing {

/// Named sections, in order.
using Sections = std::vector<std::pair<std::string, Bytes>>;

/// A container of these sections in a temporary file.
inline File container_file(const std::string& folder, FileKind kind, const Sections& sections) {
  File file = File::anonymous(folder);
  ContainerWriter writer(file, kind);
  for (const auto& [name, bytes] : sections) writer.add_section(name, bytes);
  writer.finish();
  return file;
}

/// The sections of a container.
inline Sections sections_of(const ContainerReader& container) {
  Sections sections;
  for (const SectionInfo& info : container.sections()) {
    const ByteView bytes = container.view(info.name);
    sections.emplace_back(info.name, Bytes(bytes.begin(), bytes.end()));
  }
  return sections;
}

/// A whole file's bytes.
inline Bytes bytes_of(const File& file) {
  Bytes bytes(file.size());
  file.read_at(0, bytes);
  return bytes;
}

inline std::shared_ptr<const File> shared(File file) { return std::make_shared<const File>(std::move(file)); }

}  // namespace quern::testing
