#include "quern/cache/make_plan.hpp"

#include "quern/core/named.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

namespace {

constexpr NamedValue<VisitKind> visit_kinds[] = {{"visited", VisitKind::visited}, {"probed", VisitKind::probed}};

}  // namespace

std::string_view visit_kind_name(VisitKind kind) { return name_of_value(visit_kinds, kind); }

VisitKind visit_kind_named(std::string_view name) { return find_named(visit_kinds, name, "way to count blocks").value; }

CachePlan make_plan(const QueryEngine& engine, const CacheBlocks& blocks, const LogDemand& demand,
                    const PlanOptions& options) {
  CacheAdmission admission(blocks, options.budget_bytes, options.max_admission);
  cache_policy_named(options.policy).admit(engine.index(), demand, admission);
  CachePlan plan;
  for (const auto& [term, prefix] : admission.lists())
    plan.lists.push_back({term, static_cast<std::uint32_t>(prefix.blocks), prefix.bytes});
  PlanManifest& manifest = plan.manifest;
  const ScoringOptions& scoring = engine.options();
  manifest.policy = options.policy;
  manifest.budget_bytes = options.budget_bytes;
  manifest.max_admission = options.max_admission;
  manifest.count = visit_kind_name(options.demand.kind);
  manifest.k = options.demand.k;
  manifest.alpha = scoring.alpha;
  manifest.bm25 = scoring.bm25;
  manifest.scorer = scorer_name(scoring.scorer);
  manifest.early_termination = engine.ends_early();
  manifest.round = options.demand.round;
  manifest.block = blocks.size();
  manifest.queries = demand.queries;
  manifest.distinct_queries = demand.distinct;
  manifest.unknown_queries = demand.unknown;
  manifest.empty_queries = demand.empty;
  manifest.index_hash = hash_text(engine.index().container().content_hash());
  manifest.index_bytes = blocks.index_bytes();
  return plan;
}

}  // namespace quern
