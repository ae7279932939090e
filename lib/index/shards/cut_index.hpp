#pragma once
#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/shards/shard_source.hpp"

/// Cuts an existing index into shards without its collection, for example one per GPU.
namespace quern {

/// Writes an index's statistics, which StatisticsBeside needs for its shards.
void write_statistics_of_index(const IndexReader& index, const Resources& resources, File& out);

/// Writes a shard of an index, cut by cut_into_shards(); the bytes are reproducible. `statistics` are those of the
/// index if it has PageRank, otherwise null. Throws InvalidArgument if the index is a shard itself, or the shard would
/// be empty.
BuildReport cut_index(const IndexReader& index, const ShardChoice& choice, const StatisticsReader* statistics,
                      const Resources& resources, File& out);

}  // namespace quern
