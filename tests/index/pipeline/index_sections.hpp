#pragma once
#include <string>
#include <utility>
#include <vector>

#include "quern/core/error.hpp"

#include "index/pipeline/pipeline.hpp"

/// An index split into sections, so that tests can damage it and recompute its checksums.
namespace quern::testing {

class IndexSections {
 public:
  explicit IndexSections(const ContainerReader& container) {
    for (const SectionInfo& section : container.sections()) {
      const ByteView bytes = container.view(section.name);
      sections_.emplace_back(section.name, Bytes(bytes.begin(), bytes.end()));
    }
  }

  Bytes& section(std::string_view name) {
    for (auto& [section, bytes] : sections_)
      if (section == name) return bytes;
    throw Error("no section " + std::string(name));
  }
  /// Opens an index of the current sections, with new checksums. Throws like opening.
  IndexReader open(const Pipeline& pipeline) const {
    const StageFile file = pipeline.new_file();
    ContainerWriter writer(*file, FileKind::index);
    for (const auto& [name, bytes] : sections_) writer.add_section(name, bytes);
    writer.finish();
    return Pipeline::open_index(file);
  }

 private:
  std::vector<std::pair<std::string, Bytes>> sections_;
};

}  // namespace quern::testing
