#pragma once
#include "quern/api/cache_plan.hpp"
#include "quern/api/internal/second_stage.hpp"
#include "quern/api/internal/stage_reports.hpp"
#include "quern/api/searcher.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/plan/log_demand.hpp"
#include "quern/search/intersect.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/query_terms.hpp"

/// What answers queries: engines and intersections, with their memory, on the CPU and on GPUs.
namespace quern::api {

/// Memory for running queries, if `bytes` may be kept.
inline QueryMemory query_memory(std::uint64_t bytes, unsigned threads) { return {bytes / 8 * 3, threads}; }
/// The least that must be kept for a query that takes `query_bytes`.
inline std::uint64_t bytes_for_query(std::uint64_t query_bytes) {
  return (QueryMemory::bytes_for(query_bytes) + 2) / 3 * 8;
}

/// For a batch of queries that threw InvalidArgument, which doesn't say which of them is wrong: answers them one by
/// one, and throws the first one's error, with its name.
void refuse_wrong_query(std::size_t count, const std::function<void(std::size_t query)>& answer,
                        const std::function<std::string(std::size_t query)>& name);

/// Which cache plan is for which shard of an index: a path for each, all empty without plans. Throws as PlanReader
/// does; InvalidArgument if a plan is for another index, and unless each shard has one.
std::vector<std::string> plans_by_shard(const std::vector<std::string>& plans, std::span<const IndexReader> shards);

/// How GPUs use their memory for an index or a shard, with its cache plan.
class ShardGpuMemory {
 public:
  /// `plan`: a path, or empty. Throws as PlanReader does; InvalidArgument if the plan is for another index.
  ShardGpuMemory(const gpu::GpuMemoryOptions& options, const IndexReader& index, const std::string& plan);
  /// For an index that isn't in shards: at most one plan.
  ShardGpuMemory(const gpu::GpuMemoryOptions& options, const IndexReader& index, const std::vector<std::string>& plans)
      : ShardGpuMemory(options, index, plans_by_shard(plans, {&index, 1}).front()) {}

  /// If queries may run on GPUs, takes a quarter of `bytes` of a memory budget for what copies to and from all of them
  /// pin; if transfers are direct, up to three quarters, since the index's lists are pinned, too.
  void take_pinned(QueryDevice device, std::uint64_t& bytes);
  /// Valid as long as this object.
  const gpu::GpuMemoryOptions& options() const { return options_; }

 private:
  gpu::GpuMemoryOptions options_;
  std::uint64_t list_bytes_;         ///< of the index
  std::unique_ptr<CachePlan> plan_;  ///< null: none
};

/// What decides how much memory queries need.
struct QueryNeeds {
  std::size_t k;  ///< results of the first stage
  quern::Scorer scorer;
  QueryDevice device;
};

/// An engine for each shard of an index (an uncut index is one shard), and the backend that uses them.
class SearchProcessors {
 public:
  /// The shards must stay. `options`, `plans`: for GPUs. Throws as ShardGpuMemory does.
  SearchProcessors(const IndexShards& shards, const gpu::GpuMemoryOptions& options,
                   const std::vector<std::string>& plans, unsigned threads);

  // First, if memory is limited, one of these:
  /// `bytes`: for the queries of all shards.
  void limit_queries(std::uint64_t bytes) { query_bytes_.assign(shards_.size(), bytes / shards_.size()); }
  /// Divides the memory of `resources`, which keeps the queries' part. The second stage, unless it is null, must stay,
  /// and so must the forward files that queries read.
  /// Throws InvalidArgument if the memory is too small.
  void divide_memory(const QueryNeeds& needs, SecondStage* second_stage, Resources& resources,
                     std::span<const ForwardReader> forwards = {});

  /// Makes the engines.
  void open_engines(const std::function<ScoringOptions(const IndexReader&)>& scoring);
  /// Makes the backend, which leaves memory of GPUs to the second stage unless that is null. Throws as QueryBackend
  /// does.
  void open_backend(BackendOptions options, const SecondStage* second_stage, Progress& progress);

  const std::vector<const QueryEngine*>& engines() const { return engine_pointers_; }
  QueryBackend& backend() const { return *backend_; }
  // After divide_memory():
  std::uint64_t second_stage_bytes() const { return second_stage_bytes_; }
  IndexPages& pages() { return *pages_; }
  /// What all shards may take of a GPU's memory; empty: no limit.
  std::optional<std::uint64_t> gpu_memory_bytes() const;

 private:
  /// What is left of `memory` for the queries of a shard. Throws InvalidArgument if that isn't enough for one.
  std::uint64_t bytes_for_queries(const QueryNeeds& needs, std::size_t shard, std::uint64_t memory);

  const IndexShards& shards_;
  const unsigned threads_;
  // By shard:
  std::vector<ShardGpuMemory> gpu_memories_;
  std::vector<std::uint64_t> query_bytes_;  ///< besides tables, results, and what is pinned for GPUs; empty: no limit
  std::vector<std::unique_ptr<QueryEngine>> engines_;
  std::vector<const QueryEngine*> engine_pointers_;
  // For all shards:
  std::uint64_t second_stage_bytes_ = 0;
  std::unique_ptr<IndexPages> pages_;
  std::unique_ptr<QueryBackend> backend_;
};

/// How documents with all terms of a query are found.
struct IntersectSettings {
  QueryDevice device = QueryDevice::cpu;
  std::string method = {};  ///< empty: the device's own
  IntersectionOptions options = {};
  GpuIntersectionOptions gpu = {};
  FailoverNotice notice = [](const std::string&) {};
};

/// Finds documents with all terms of a query.
class IntersectProcessors {
 public:
  /// Copies the index, which must stay, to the GPUs that the device needs. Throws WrongUsage for a method of GPUs on
  /// the CPU, and as FailoverIntersection does.
  IntersectProcessors(const IndexReader& index, const IntersectSettings& settings, QueryMemory memory,
                      Progress& progress);

  QueryReader reader(QueryKind kind) const { return cpu_.reader(kind); }
  /// As FailoverIntersection::run(), for documents in `passing`; null: all. Throws InvalidArgument if it is for another
  /// index.
  void run(std::span<const QueryView> queries, const DocumentSet* passing, unsigned threads,
           const IntersectionSteps& steps, std::uint64_t held_bytes = default_held_bytes);
  std::string_view method_name() const { return processors_.method_name(); }

 private:
  const Intersection cpu_;
  FailoverIntersection processors_;
};

/// A caller's choice, completed by the index's settings.
ScoringOptions scoring_options(const Scoring& scoring, const IndexReader& index);

/// Scoring of the queries that a plan is for. Throws WrongUsage for an alpha with a scorer that has none.
ScoringOptions scoring_options(const PlanOptions& options, const IndexReader& index);
/// How their use of lists is counted.
DemandOptions demand_options(const PlanOptions& options);
/// A share of a size: at least a byte, so that a small budget is refused as too small, unless the share is 0.
std::uint64_t share_of(std::uint64_t bytes, double share);
/// Makes a remark if early termination is off, so that queries read all of their lists.
void remark_on_visits(const QueryEngine& engine, const TakeRemark& take);

/// The terms of a vector query, unchanged.
QueryTerms terms_of(const Query& vector);

/// Reads a query of either form.
inline QueryTerms read_query(const QueryReader& reader, const Query& query, Analyzer& analyzer) {
  return query.is_vector() ? reader.use(terms_of(query)) : reader.read(query.text(), analyzer);
}

/// Results for programs.
inline std::vector<Hit> hits_of(std::span<const ScoredDocument> documents) {
  std::vector<Hit> hits;
  hits.reserve(documents.size());
  for (const ScoredDocument& document : documents) hits.push_back({document.docid, document.score});
  return hits;
}

/// Throws InvalidArgument for an unknown device.
inline QueryDevice query_device(Device device) {
  if (device > Device::automatic) throw quern::InvalidArgument("unknown device");
  return static_cast<QueryDevice>(device);
}

}  // namespace quern::api
