#pragma once
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/search/document_set.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_memory.hpp"

#include "command.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"
#include "second_stage.hpp"

/// --filter of commands that answer queries.
namespace quern::tools {

void add_filter_option(CLI::App& command, std::optional<std::string>& filter);

/// Files that a command reads or writes besides the list of a filter; empty: none.
struct OtherFiles {
  std::string queries, output;
};

/// The documents of the index that pass a filter, which is an expression, or @FILE for a list of docnos; nothing if
/// there is no filter. Warns of docnos that the index lacks, and if no document passes. Takes what
/// the set needs from the memory of `resources`. A list can't be standard input if the queries are, nor the output.
std::optional<DocumentSet> passing_documents(const std::optional<std::string>& filter, const OtherFiles& others,
                                             const IndexReader& index, Resources& resources,
                                             const CommonOptions& options);

// What `quern query` opens of an index, or of each of its shards, and how its memory is divided among them.

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

/// Compares the docnos of an index with their checksums in a thread of its own, for runs with so many results that
/// nearly all are read: while GPUs get the index, not while they wait for results to be written. Some may be left for
/// later. Wait for it with get(); its errors are those of the docnos when they are read. The index must outlive it.
std::future<void> check_docnos(const IndexReader& index);

}  // namespace quern::tools
