#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/core/types.hpp"

namespace quern {

/// Of an order. Each shard is a file or two; more are of no use, and their first docIDs are in the manifest.
inline constexpr std::size_t most_shards = 65536;

/// The first docIDs of `count` shards, ranges of docIDs with nearly the same number of tokens each, a document counting
/// as one more: `lengths` of all documents in docID order. Postings, which lists are made of, are known of no document
/// without reading its forward list; tokens are, and follow them closely. Each has a document,
/// unless there are fewer documents than shards; then some are empty.
std::vector<docid_t> cut_into_shards(std::span<const std::uint32_t> lengths, std::size_t count);

}  // namespace quern
