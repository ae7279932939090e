#include "quern/plan/cache_plan.hpp"

#include "quern/io/atomic_output.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

ScoringOptions scoring_of(const PlanManifest& manifest) {
  ScoringOptions scoring;
  scoring.bm25 = manifest.bm25;
  scoring.idf = find_named(idf_names, manifest.idf, "IDF").value;
  scoring.scores = find_named(scores_names, manifest.scores, "precision of scores").value;
  scoring.alpha = manifest.alpha;
  scoring.scorer = find_named(scorer_names, manifest.scorer, "scorer").value;
  scoring.early_termination = manifest.early_termination;
  return scoring;
}

/// Calls run(LogQueries&) with all queries of a log and frees them afterwards.
template <class Run>
auto with_queries(const ReadQueries& log, QueryKind kind, const QueryEngine& engine, const Resources& resources,
                  Run&& run) {
  LogQueries queries(engine.index().manifest().analyzer, resources, kind);
  log(queries);
  return run(queries);
}

}  // namespace

void check_plan_memory(const CacheBlocks& blocks, std::uint64_t budget_bytes, const Resources& resources) {
  const std::uint64_t terms = blocks.index().manifest().terms;
  // CacheAdmission's memory; then what a policy sorts per list, and later its row in the plan and in the file's
  // sections. A list in the plan has at least one word and two block rows.
  const std::uint64_t rows = blocks.index().container().array<docid_t>("block_last").size();
  const std::uint64_t sorted = std::min(terms, rows / 2);
  const std::uint64_t lists = std::min(sorted, budget_bytes / sizeof(std::uint32_t));
  const std::uint64_t needed =
      terms * sizeof(std::uint32_t) + std::max(sorted * sizeof(LengthOfList), lists * 2 * sizeof(CachedList));
  if (needed > resources.memory_bytes / 2)
    throw InvalidArgument(
        "{}: a plan of up to {} of {} lists needs {} of memory, but only half of {} ({}) is available for "
        "plans; raise it, or lower {} or {}",
        blocks.index().name(), lists, terms, size_text(needed), option_name<"memory">,
        size_text(resources.memory_bytes), option_name<"budget">, option_name<"gpu-memory">);
}

CachePlan make_plan(const QueryEngine& engine, const CacheBlocks& blocks, const LogDemand& demand,
                    const PlanOptions& options) {
  CacheAdmission admission(blocks, options.budget_bytes, options.max_admission, options.budget_rows);
  cache_policy_named(options.policy).admit(demand, admission);
  CachePlan plan;
  plan.lists.reserve(admission.num_lists());
  blocks.for_each_list([&](const PostingList& list) {
    const auto admitted = static_cast<std::uint32_t>(admission.blocks_of(list.number));
    if (admitted > 0) plan.lists.push_back({list.number, admitted, blocks.bytes(list, admitted)});
  });
  PlanManifest& manifest = plan.manifest;
  const ScoringOptions& scoring = engine.options();
  manifest.policy = options.policy;
  manifest.budget_bytes = options.budget_bytes;
  manifest.budget_rows = options.budget_rows;
  manifest.max_admission = options.max_admission;
  manifest.count = name_of_value(visit_kinds, options.demand.kind);
  manifest.k = options.demand.k;
  manifest.alpha = scoring.alpha;
  manifest.bm25 = scoring.bm25;
  manifest.idf = name_of_value(idf_names, scoring.idf);
  manifest.scores = name_of_value(scores_names, scoring.scores);
  manifest.scorer = name_of_value(scorer_names, scoring.scorer);
  manifest.early_termination = engine.ends_early();
  manifest.round = options.demand.round;
  manifest.block = blocks.size();
  manifest.queries = demand.queries;
  manifest.distinct_queries = demand.distinct;
  manifest.unknown_queries = demand.unknown;
  manifest.empty_queries = demand.empty;
  manifest.log_hash = hash_text(demand.log_hash);
  manifest.index_hash = hash_text(engine.index().container().content_hash());
  manifest.index_bytes = blocks.index_bytes();
  return plan;
}

SimulatedCache simulate_plan(const CachePlan& plan, const IndexReader& index, LogQueries& log, std::uint64_t batch,
                             const Resources& resources) {
  return run_stage(resources, [&]() -> SimulatedCache {
    const PlanManifest& manifest = plan.manifest;
    const QueryEngine engine(index, scoring_of(manifest), resources.threads, memory_of_log_queries(resources));
    const CacheBlocks blocks(index, manifest.block, resources, engine.quantizer() != nullptr);
    const CacheTrace trace(engine, log, manifest.k, manifest.round, resources);
    const auto blocks_cached = [&](term_t term) { return plan.blocks_of(term); };
    return {manifest.policy,
            manifest.budget_bytes,
            manifest.cached_bytes,
            manifest.index_bytes,
            manifest.max_admission,
            manifest.k,
            trace.simulate(blocks, blocks_cached, batch)};
  });
}

std::vector<SimulatedCache> sweep_policies(const QueryEngine& engine, const CacheBlocks& blocks,
                                           const ReadQueries& train, const ReadQueries& log,
                                           const SweepOptions& options, const Resources& resources) {
  return run_stage(resources, [&] {
    const std::uint64_t index_bytes = blocks.index_bytes();
    std::vector<SimulatedCache> caches;
    for (const std::uint64_t budget_bytes : options.budgets_bytes) check_plan_memory(blocks, budget_bytes, resources);
    for (const std::size_t k : options.ks) {
      const LogDemand demand = with_queries(train, options.queries, engine, resources, [&](LogQueries& queries) {
        return measure_demand(engine, blocks, queries, {k, options.round, options.kind}, resources);
      });
      const CacheTrace trace = with_queries(log, options.queries, engine, resources, [&](LogQueries& queries) {
        return CacheTrace(engine, queries, k, options.round, resources);
      });
      for (const std::string& policy : options.policies) {
        for (const std::uint64_t budget_bytes : options.budgets_bytes) {
          for (const double max_admission : options.max_admissions) {
            CacheAdmission admission(blocks, budget_bytes, max_admission);
            cache_policy_named(policy).admit(demand, admission);
            const auto blocks_cached = [&](term_t term) { return admission.blocks_of(term); };
            caches.push_back({policy, budget_bytes, admission.bytes(), index_bytes, max_admission, k,
                              trace.simulate(blocks, blocks_cached, options.batch)});
          }
        }
      }
    }
    return caches;
  });
}

Scorer default_plan_scorer(const IndexReader& index, Scores scores) {
  return !index.global_scores().empty() && scores == Scores::exact ? Scorer::bm25_pagerank : Scorer::bm25;
}

CacheBlocks cache_blocks_for(const QueryEngine& engine, std::uint64_t size, const Resources& resources) {
  const IndexReader& index = engine.index();
  return {index, size == 0 ? CacheBlocks::default_size(index) : size, resources, engine.quantizer() != nullptr};
}

LogPlanner::LogPlanner(const IndexReader& index, const ScoringOptions& scoring, std::uint64_t caching_block,
                       const Resources& resources)
    : resources_(resources),
      engine_(index, scoring, resources.threads, memory_of_log_queries(resources)),
      blocks_(cache_blocks_for(engine_, caching_block, resources)) {}

PlanManifest LogPlanner::write(const PlanOptions& options, const ReadQueries& log, const std::string& path,
                               bool overwrite) const {
  return run_stage(resources_, [&] {
    check_plan_memory(blocks_, options.budget_bytes, resources_);
    AtomicOutput out = AtomicOutput::file(path, overwrite);
    LogQueries queries(engine_.index().manifest().analyzer, resources_, options.demand.queries);
    log(queries);
    const LogDemand demand = measure_demand(engine_, blocks_, queries, options.demand, resources_);
    const CachePlan plan = make_plan(engine_, blocks_, demand, options);
    if (plan.lists.empty() && options.budget_bytes > 0 && blocks_.kept_bytes() > 0)
      throw InvalidArgument(
          "a budget of {} is too small for a single block; raise {} or {}, or give a share such as 20%",
          size_text(options.budget_bytes), option_name<"budget">, option_name<"gpu-memory">);
    write_plan(out.file(), plan);
    out.commit();
    return PlanReader::open(path).manifest();
  });
}

}  // namespace quern
