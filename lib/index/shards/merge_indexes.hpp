#pragma once
#include "quern/formats/index_shards.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/forward/build_forward.hpp"

/// Merges the shards of an index into an index of all documents.
namespace quern {

/// The options that an index was built with.
BuildOptions options_of_index(const IndexManifest& manifest);
IndexManifest settings_of_index(const IndexManifest& from);

/// Writes the bytes of build_index() for all documents, in the order that these are shards of. Decodes and encodes
/// lists again, since blocks cross shard borders, in parallel and within the memory budget. Throws InvalidArgument if
/// it is a single index but not a shard.
BuildReport merge_indexes(const IndexShards& shards, const Resources& resources, File& out);

// Sidecar files of an index assembled from other indexes: a whole index from its shards, or a shard from it.

/// Consecutive documents of an index.
struct IndexPart {
  const IndexReader& index;
  DocidRange docids;
};
/// All documents of all shards.
std::vector<IndexPart> parts_of(const IndexShards& shards);

/// Writes the texts of these documents for the index with this content hash; the bytes are those of build_texts().
/// Throws InvalidArgument if an index lacks texts.
TextsReport copy_texts(std::span<const IndexPart> parts, const std::string& index_hash, const Resources& resources,
                       File& out);
/// Writes the kept fields of these documents, like copy_texts().
FieldsReport copy_fields(std::span<const IndexPart> parts, const std::string& index_hash, const Resources& resources,
                         File& out);
/// Writes the forward file of these documents. `to` is their index.
ForwardReport copy_forward(std::span<const IndexPart> parts, const IndexReader& to, const Resources& resources,
                           File& out);

}  // namespace quern
