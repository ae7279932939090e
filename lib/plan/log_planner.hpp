#pragma once
#include <cstdint>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/plan/cache_plan.hpp"
#include "quern/search/query_engine.hpp"

/// From an index and a log to the file of a plan.
namespace quern {

/// The scorer of queries that plans are made for, where none is named: bm25+pagerank if the index has global scores and
/// scores are exact, else bm25.
Scorer default_plan_scorer(const IndexReader& index, Scores scores);

/// The caching blocks of the engine's index, with impacts if its scores are quantized. `size`: postings per caching
/// block; 0: the index's default.
CacheBlocks cache_blocks_for(const QueryEngine& engine, std::uint64_t size, const Resources& resources);

/// Makes plans for queries that are scored in one way.
class LogPlanner {
 public:
  /// `caching_block` as in cache_blocks_for(). Index and resources must outlive the object. Throws as QueryEngine and
  /// CacheBlocks do.
  LogPlanner(const IndexReader& index, const ScoringOptions& scoring, std::uint64_t caching_block,
             const Resources& resources);

  const QueryEngine& engine() const { return engine_; }
  /// What budgets are compared with.
  const CacheBlocks& blocks() const { return blocks_; }
  /// Makes the plan for the queries that `log` reads, writes it to `path`, and returns what it says of itself. Refuses
  /// what it can before it calls `log`: throws as check_plan_memory() and AtomicOutput::file() do; then as
  /// measure_demand() and make_plan() do, and InvalidArgument for a budget that is not 0 and holds no block.
  PlanManifest write(const PlanOptions& options, const ReadQueries& log, const std::string& path, bool overwrite) const;

 private:
  const Resources& resources_;
  QueryEngine engine_;
  CacheBlocks blocks_;
};

}  // namespace quern
