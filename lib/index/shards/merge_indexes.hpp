#pragma once
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/index/build_index.hpp"

/// The index of all documents from the indexes of its shards.
namespace quern {

/// The options and settings that make another index of the documents of one as it was made; the assembly fills in the
/// rest of a manifest.
BuildOptions options_of_index(const IndexManifest& manifest);
IndexManifest settings_of_index(const IndexManifest& from);

/// Writes the bytes that build_index() writes for all documents, given the order of which these are the shards: throws
/// InvalidArgument if it is a single index that is none.
/// Lists are decoded and encoded anew, since blocks cross the shards' borders, in parallel and within the memory
/// budget.
BuildReport merge_indexes(const IndexShards& shards, const Resources& resources, File& out);

}  // namespace quern
