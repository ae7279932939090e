#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/index/shards/posting_counts.hpp"

namespace quern {

/// Of an order. Each shard is a file or two; more are of no use, and their first docIDs are in the manifest.
inline constexpr std::size_t most_shards = 65536;

/// The first docIDs of `count` shards, ranges of docIDs with nearly the same number of postings each, a document
/// counting as one more: `postings` are those of a docID. Each shard has a document, unless there are fewer documents
/// than shards; then some are empty.
std::vector<docid_t> cut_into_shards(docid_t documents, std::size_t count,
                                     const std::function<std::uint64_t(docid_t)>& postings);
/// The same of an order: `postings` of each document of its collection, `documents` in the order of docIDs.
std::vector<docid_t> cut_into_shards(std::span<const std::uint32_t> postings, std::span<const docid_t> documents,
                                     std::size_t count);
/// The same of an index, but shards begin where ranges do, unless there are fewer ranges than shards.
std::vector<docid_t> cut_into_shards(const RangeCounts& counts, docid_t documents, std::size_t count);

}  // namespace quern
