#pragma once
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
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

/// --filter, and what `quern query` opens of each shard.
namespace quern::tools {

void add_filter_option(CLI::App& command, std::optional<std::string>& filter);

/// Files that a command reads or writes besides the list of a filter; empty: none.
struct OtherFiles {
  std::string queries, output;
};

/// The documents of an index, or of each of its shards, that pass a filter, which is an expression, or @FILE for a list
/// of docnos; empty if there is no filter. Warns of docnos that the index lacks, and if no document passes. Takes what
/// the sets need from the memory of `resources`. A list can't be standard input if the queries are, nor the output.
std::vector<DocumentSet> passing_documents(const std::optional<std::string>& filter, const OtherFiles& others,
                                           std::span<const IndexReader> shards, Resources& resources,
                                           const CommonOptions& options);

/// Options that decide how much memory queries need.
struct QueryNeeds {
  const CommonOptions& common;
  std::size_t k;  ///< results of the first stage
  Scorer scorer;
  QueryDevice device;
  const GpuMemoryArguments& gpu_memory;
  const std::optional<std::string>& filter;
  OtherFiles files;
};

/// The shards of an index (an uncut index is one shard), with an engine, memory and a filter for each.
class QueryShards {
 public:
  /// Divides the memory of `resources`, which keeps the queries' part. The index, and the second stage unless it is
  /// null, must stay. Throws InvalidArgument if the memory is too small, and as passing_documents() and GpuMemoryPlan
  /// do.
  QueryShards(const IndexShards& shards, const QueryNeeds& needs, SecondStage* second_stage, Resources& resources);

  /// Makes an engine for each shard.
  void open_engines(const ScoringArguments& scoring, const QuerySource& queries);

  const std::vector<const QueryEngine*>& engines() const { return engine_pointers_; }
  /// Empty: all documents pass.
  const std::vector<const DocumentSet*>& passing() const { return passing_pointers_; }
  /// For GPUs, by shard.
  std::vector<gpu::GpuMemoryOptions> gpu_memory() const;
  /// Memory for the second stage.
  std::uint64_t second_stage_bytes() const { return second_stage_bytes_; }
  IndexPages& pages() { return *pages_; }

 private:
  const IndexShards& shards_;
  const unsigned threads_;
  // By shard:
  std::vector<DocumentSet> passing_;
  std::vector<std::unique_ptr<GpuMemoryPlan>> gpu_memories_;
  std::vector<std::uint64_t> query_bytes_;  ///< besides tables, results, and what is pinned for GPUs
  std::vector<const DocumentSet*> passing_pointers_;
  std::vector<std::unique_ptr<QueryEngine>> engines_;
  std::vector<const QueryEngine*> engine_pointers_;
  // For all shards:
  std::uint64_t second_stage_bytes_ = 0;
  std::unique_ptr<IndexPages> pages_;
};

/// Verifies the docnos of an index in a thread of its own. Runs with many results read nearly all docnos, and checksums
/// are best compared while GPUs get the index, not while they wait for results to be written. get() waits, and throws
/// what reading docnos would. The index must outlive it.
std::future<void> check_docnos(const IndexReader& index);

}  // namespace quern::tools
