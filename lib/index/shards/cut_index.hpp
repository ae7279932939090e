#pragma once
#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/shards/shard_source.hpp"

/// Shards of an index that exists, without its collection: for GPUs, each of which can hold one.
namespace quern {

/// Writes statistics of an index: what StatisticsBeside needs for its shards.
void write_statistics_of_index(const IndexReader& index, const Resources& resources, File& out);

/// Writes the shard of an index, cut by cut_into_shards(): the same bytes each time. `statistics`: those of the index,
/// if it has PageRank; else null. Throws InvalidArgument if the index is a shard itself, or the shard would be empty.
BuildReport cut_index(const IndexReader& index, const ShardChoice& choice, const StatisticsReader* statistics,
                      const Resources& resources, File& out);

}  // namespace quern
