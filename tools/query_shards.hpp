#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/search/document_set.hpp"
#include "quern/search/index_pages.hpp"
#include "quern/search/query_engine.hpp"

#include "filter_option.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"
#include "second_stage.hpp"

/// What `quern query` opens of an index, or of each of its shards, and how its memory is divided among them.
namespace quern::tools {

/// What queries take memory for.
struct QueryNeeds {
  const CommonOptions& common;
  std::size_t k;  ///< results of the first stage
  Scorer scorer;
  QueryDevice device;
  const GpuMemoryArguments& gpu_memory;
  const std::optional<std::string>& filter;
  OtherFiles files;
};

/// Parts of --memory, in bytes.
struct QueryBudget {
  std::uint64_t for_queries = 0;       ///< besides an engine's tables, results, and what is pinned for GPUs
  std::uint64_t for_second_stage = 0;  ///< besides the results
};

/// The shards of an index, of which an index that was never cut has one, with what queries need of each.
class QueryShards {
 public:
  /// Divides the memory of `resources`, and leaves there what is for queries of all shards; refuses what can't work
  /// with it, before any query is read. The index, and the second stage unless it is null, must stay. Throws as
  /// passing_documents() and GpuMemoryPlan do.
  QueryShards(const IndexShards& shards, const QueryNeeds& needs, SecondStage* second_stage, Resources& resources);

  /// Makes an engine of each shard.
  void open_engines(const ScoringArguments& scoring, const QuerySource& queries);

  const std::vector<const QueryEngine*>& engines() const { return engine_pointers_; }
  /// Empty: all documents pass.
  const std::vector<const DocumentSet*>& passing() const { return passing_pointers_; }
  /// Of GPUs, for each shard.
  std::vector<gpu::GpuMemoryOptions> gpu_memory() const;
  /// What is for the second stage, of each shard.
  std::uint64_t second_stage_bytes(std::size_t shard) const { return budgets_[shard].for_second_stage; }
  IndexPages& pages(std::size_t shard) { return *pages_[shard]; }

  /// As those of IndexPages, of all shards.
  void trim();
  void note_query();

 private:
  void add(const IndexReader& index, const QueryNeeds& needs, SecondStage* second_stage, Resources resources);

  const IndexShards& shards_;
  const unsigned threads_;
  // Of each shard:
  std::vector<std::unique_ptr<GpuMemoryPlan>> gpu_memories_;
  std::vector<QueryBudget> budgets_;
  std::vector<std::unique_ptr<IndexPages>> pages_;
  std::vector<DocumentSet> passing_;
  std::vector<const DocumentSet*> passing_pointers_;
  std::vector<std::unique_ptr<QueryEngine>> engines_;
  std::vector<const QueryEngine*> engine_pointers_;
};

}  // namespace quern::tools
