#include "quern/index/beside_files.hpp"

#include <filesystem>

namespace quern {

bool has_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void BesideChoice::check_memory(const CollectionReader& collection, const Resources& resources) const {
  if (forward) check_forward_memory(collection, resources);
}

BesideReports BesideChoice::write(const CollectionReader& collection, const DocumentOrder& order,
                                  const std::string& index_hash, const Resources& resources, AtomicOutput& folder,
                                  const ForwardShard* shard) const {
  BesideReports reports;
  const std::optional<DocidRange> range = shard == nullptr ? std::nullopt : std::optional(shard->docids);
  if (forward)
    reports.forward =
        build_forward(collection, {order.documents, index_hash, shard}, resources, folder.add_member(forward_member));
  if (collection.has_fields())
    reports.fields = build_fields(collection, order, index_hash, resources, folder.add_member(fields_member), range);
  if (texts)
    reports.texts = build_texts(collection, order, index_hash, resources, folder.add_member(texts_member), range);
  return reports;
}

}  // namespace quern
