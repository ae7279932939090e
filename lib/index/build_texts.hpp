#pragma once
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// The result of writing an index's texts.
struct TextsReport {
  std::uint64_t text_bytes = 0;  ///< bytes before compression
  std::uint64_t file_bytes = 0;
};

/// Throws InvalidArgument, with the remedy, if a collection keeps no texts.
void check_has_texts(const CollectionReader& collection);

/// Writes the texts of a collection's documents in docID order, within the memory budget, for the index with this hash
/// (BuildReport::index_hash). The bytes depend only on collection, order and index. Throws InvalidArgument like
/// check_has_texts() and check_build_memory().
TextsReport build_texts(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                        const Resources& resources, File& out, std::optional<DocidRange> range = std::nullopt);

/// The result of writing an index's kept fields.
struct FieldsReport {
  std::uint64_t fields = 0;
  std::uint64_t file_bytes = 0;
};

/// Writes the kept fields of a collection's documents in docID order, within the memory budget, for the index with this
/// hash (BuildReport::index_hash). The bytes depend only on collection, order and index. Throws InvalidArgument if the
/// collection keeps no fields, and like check_build_memory().
FieldsReport build_fields(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                          const Resources& resources, File& out, std::optional<DocidRange> range = std::nullopt);

}  // namespace quern
