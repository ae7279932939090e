#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/index_file.hpp"

/// How many postings documents have, by which shards are cut. The counts do not depend on threads or memory.
namespace quern {

/// Of each document of a collection: its different terms in title and body, or its weights where the corpus gave them.
/// Reads all forward lists, on as many threads as the memory is enough for; documents that lie in several chunks by
/// one. Throws InvalidArgument if there is not even memory for the counts.
std::vector<std::uint32_t> count_postings(const CollectionReader& collection, const Resources& resources);

/// Postings of neighbouring documents of an index.
struct RangeCounts {
  std::vector<std::uint64_t> postings;  ///< of each range of docIDs, in their order
  docid_t documents = 1;                ///< of a range, but maybe the last
};

/// Of an index, in at most 2^20 ranges. Decodes short lists; of long ones, the postings of a block count in the middle
/// of the block's docIDs: a cut is off by less than half a block for each of them, to either side.
RangeCounts count_postings(const IndexReader& index);

/// Of an order. Each shard is a file or two; more are of no use, and their first docIDs are in the manifest.
inline constexpr std::size_t max_shards = 65536;

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
