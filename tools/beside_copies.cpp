#include "beside_copies.hpp"

#include <algorithm>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/io/checksum.hpp"

namespace quern::tools {
namespace {

/// If some have the file and others lack it, the copy fails and says so.
bool some_have(std::span<const IndexPart> parts, std::string (*path)(const std::string& index_path)) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const IndexPart& part) { return has_file(path(part.index.name())); });
}

}  // namespace

SidecarReports copy_beside(std::span<const IndexPart> parts, const Resources& resources, AtomicOutput& out) {
  const IndexReader index = IndexReader::open(out.file());
  const std::string hash = hash_text(index.container().content_hash());
  SidecarReports reports;
  if (some_have(parts, forward_path))
    reports.forward = copy_forward(parts, index, resources, out.add_member(forward_member));
  if (!index.manifest().field_names.kept.empty())
    reports.fields = copy_fields(parts, hash, resources, out.add_member(fields_member));
  if (some_have(parts, texts_path)) reports.texts = copy_texts(parts, hash, resources, out.add_member(texts_member));
  return reports;
}

}  // namespace quern::tools
