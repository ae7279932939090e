#include "quern/api/cache_plan.hpp"

#include <fmt/format.h>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/processors.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/gpu/store/list_cache.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/plan/cache_plan.hpp"

namespace quern::api {

ScoringOptions scoring_options(const PlanOptions& options, const IndexReader& index) {
  Scoring scoring;
  scoring.idf = options.idf;
  scoring.scores = options.scores;
  scoring.alpha = options.alpha;
  ScoringOptions out = scoring_options(scoring, index);
  out.scorer = default_plan_scorer(index, out.scores);
  if (options.scorer) out.scorer = *options.scorer == Scorer::bm25 ? quern::Scorer::bm25 : quern::Scorer::bm25_pagerank;
  if (options.alpha && out.scorer != quern::Scorer::bm25_pagerank)
    throw WrongUsage("{}: needs {} bm25+pagerank", option_name<"alpha">, option_name<"scorer">);
  return out;
}

DemandOptions demand_options(const PlanOptions& options) {
  check_range("k", options.k, 1, end_docid);
  return {options.k, options.round, options.count_probed ? VisitKind::probed : VisitKind::visited,
          options.json_queries ? QueryKind::vector : QueryKind::text};
}

std::uint64_t share_of(std::uint64_t bytes, double share) {
  const double share_bytes = std::max(share * static_cast<double>(bytes), share > 0 ? 1.0 : 0.0);
  return share_bytes >= 0x1p63 ? std::uint64_t{1} << 63 : static_cast<std::uint64_t>(share_bytes);
}

void remark_on_visits(const QueryEngine& engine, const TakeRemark& take) {
  if (engine.ends_early()) return;
  const std::string& why = engine.why_not_early();
  take(fmt::format("warning: early termination is off ({}); queries read their shortest lists to the end",
                   why.empty() ? "scores without PageRank" : why));
}

namespace {

constexpr double max_budget_share = 1e6;

gpu::GpuMemoryOptions gpu_memory(const PlanOptions& options, const IndexReader& index) {
  gpu::GpuMemoryOptions memory;
  if (options.gpu_memory_bytes != 0)
    memory.bytes = options.gpu_memory_bytes;
  else
    memory.share = options.gpu_memory_share;
  const gpu::Strategy* strategy = &gpu::all_strategies().front();
  if (options.list_buffer_bytes > 0) {
    strategy = &gpu::strategy_named("wang");
    memory.list_buffer = options.list_buffer_bytes;
  }
  memory.needs = gpu::needs_of({&strategy, 1}, index, GpuOptions().batch_queries);
  return memory;
}

/// Sets the room for the plan.
void set_budget(const PlanOptions& options, const LogPlanner& planner, const TakeRemark& take,
                quern::PlanOptions& out) {
  const CacheBlocks& blocks = planner.blocks();
  if (options.gpu_memory_bytes != 0 || options.gpu_memory_share > 0) {
    const gpu::PlanRoom room = gpu::plan_room(planner.engine(), gpu_memory(options, blocks.index()));
    out.budget_bytes = room.bytes;
    out.budget_rows = room.rows;
    if (room.whole_index)
      take(fmt::format("{}: the whole index fits in {} of GPU memory; queries need no plan", blocks.index().name(),
                       options.gpu_memory_bytes != 0 ? size_text(options.gpu_memory_bytes)
                                                     : fmt::format("{:g}%", 100 * options.gpu_memory_share)));
    return;
  }
  check_range("budget", options.budget_share, 0, max_budget_share);
  if (!options.budget_bytes && options.budget_share == 0)
    throw InvalidArgument("a plan needs a {}", option_name<"budget">);
  out.budget_bytes = options.budget_bytes.value_or(share_of(blocks.index_bytes(), options.budget_share));
}

quern::PlanOptions plan_options(const PlanOptions& options, const LogPlanner& planner, const TakeRemark& take) {
  quern::PlanOptions out;
  if (!options.policy.empty()) out.policy = options.policy;
  set_budget(options, planner, take, out);
  out.max_admission = options.max_admission;
  out.demand = demand_options(options);
  return out;
}

/// `kept_bytes`: of all lists that the plan could hold.
void remark_on_plan(const PlanManifest& manifest, std::uint64_t kept_bytes, const std::string& path,
                    const TakeRemark& take) {
  take(fmt::format("{}, {} distinct; {} with terms that are not indexed, {} without results",
                   count_text(manifest.queries, "query", "queries"), manifest.distinct_queries,
                   manifest.unknown_queries, manifest.empty_queries));
  take(fmt::format("wrote {}: {}, {} of {} cached, {} of {}", path, manifest.policy, size_text(manifest.cached_bytes),
                   size_text(manifest.index_bytes), count_text(manifest.cached_blocks, "block"),
                   count_text(manifest.lists, "list")));
  if (kept_bytes == 0)
    take("no list is longer than a block of the index; such short lists are sent to GPUs with the queries");
  else if (manifest.cached_bytes == kept_bytes)
    take("the budget holds all lists that are longer than a block of the index");
}

}  // namespace

std::vector<std::string> policies() {
  return with_api_errors([] { return names_of(all_cache_policies()); });
}

PlanReport plan_cache(const Index& index, const QueryLog& log, const std::string& path, const PlanOptions& options,
                      const Work& work) {
  return with_api_errors([&] {
    WorkResources resources(work, folder_of(path));
    const auto remark = [&](const std::string& text) { resources.progress().remark(text); };
    const IndexReader& reader = index.impl()->whole();
    const LogPlanner planner(reader, scoring_options(options, reader), options.caching_block, resources);
    const auto add_log = [&](LogQueries& queries) {
      remark_on_visits(planner.engine(), remark);
      log([&](const Query& query) { query.is_vector() ? queries.add(terms_of(query)) : queries.add(query.text()); });
    };
    const PlanManifest manifest =
        planner.write(plan_options(options, planner, remark), add_log, path, options.overwrite);
    remark_on_plan(manifest, planner.blocks().kept_bytes(), path, remark);
    return PlanReport{manifest.queries,
                      manifest.distinct_queries,
                      manifest.unknown_queries,
                      manifest.empty_queries,
                      manifest.cached_bytes,
                      manifest.index_bytes,
                      manifest.cached_blocks,
                      manifest.lists,
                      figures_of(manifest).dump(1)};
  });
}

}  // namespace quern::api
