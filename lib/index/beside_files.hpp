#pragma once
#include <optional>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/build_fields.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/io/atomic_output.hpp"

/// What is written beside an index into its folder, if it is asked for.
namespace quern {

/// Whether there is such a file.
bool has_file(const std::string& path);

struct BesideReports {
  std::optional<ForwardReport> forward;
  std::optional<TextsReport> texts;
  std::optional<FieldsReport> fields;
};

/// Which files are wanted; the fields that a collection keeps always are.
struct BesideChoice {
  bool forward = false, texts = false;

  /// Throws InvalidArgument if the memory budget does not hold what they need.
  void check_memory(const CollectionReader& collection, const Resources& resources) const;
  /// Writes them for the index with this content hash, which was just built into the same folder.
  /// `shard`: which of the order's it is; null: it is the index of all documents.
  BesideReports write(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                      const Resources& resources, AtomicOutput& folder, const ForwardShard* shard = nullptr) const;
};

}  // namespace quern
