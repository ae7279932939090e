#include "sharded_second_stage.hpp"

#include "quern/core/wall_clock.hpp"

namespace quern::tools {
namespace {

std::vector<ForwardReader> open_forwards(const IndexShards& shards) {
  std::vector<ForwardReader> forwards;
  for (const IndexReader& shard : shards) forwards.push_back(ForwardReader::open(shard));
  return forwards;
}

}  // namespace

ShardedSecondStage::ShardedSecondStage(const RankerArguments& arguments, const IndexShards& shards)
    : forwards_(open_forwards(shards)),
      memory_(shards.size()),
      reranker_(shards, forwards_, bind_model(arguments), arguments.ranker, memory_),
      spaces_([&shards] { return ShardedReranker::Space(shards); }) {}

double ShardedSecondStage::rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k) const {
  const auto begun = WallClock::now();
  reranker_.rerank(query, documents, k, spaces_.local());
  return us_since(begun);
}

}  // namespace quern::tools
