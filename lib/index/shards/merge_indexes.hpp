#pragma once
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/index/build_index.hpp"

/// Merges the shards of an index into an index of all documents.
namespace quern {

/// The options that an index was built with.
BuildOptions options_of_index(const IndexManifest& manifest);
IndexManifest settings_of_index(const IndexManifest& from);

/// Writes the bytes of build_index() for all documents, in the order that these are shards of. Decodes and encodes
/// lists again, since blocks cross shard borders, in parallel and within the memory budget. Throws InvalidArgument if
/// it is a single index but not a shard.
BuildReport merge_indexes(const IndexShards& shards, const Resources& resources, File& out);

}  // namespace quern
