#include "quern/plan/log_planner.hpp"

#include <fmt/format.h>

#include "quern/core/error.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/core/size_text.hpp"
#include "quern/io/atomic_output.hpp"

namespace quern {

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
    LogQueries queries(engine_.index().manifest().analyzer, resources_, engine_.options().text);
    log([&](std::string_view text) { queries.add(text); });
    const LogDemand demand = measure_demand(engine_, blocks_, queries, options.demand, resources_);
    const CachePlan plan = make_plan(engine_, blocks_, demand, options);
    if (plan.lists.empty() && options.budget_bytes > 0 && blocks_.kept_bytes() > 0)
      throw InvalidArgument(fmt::format(
          "a budget of {} holds no block of any list; give more by --budget or --gpu-memory, or a share such "
          "as 20%",
          size_text(options.budget_bytes)));
    write_plan(out.file(), plan);
    out.commit();
    return PlanReader::open(path).manifest();
  });
}

}  // namespace quern
