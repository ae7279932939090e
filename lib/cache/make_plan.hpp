#pragma once
#include "quern/cache/cache_policy.hpp"
#include "quern/formats/plan_file.hpp"

namespace quern {

struct PlanOptions {
  std::string policy{all_cache_policies().front()->name};
  std::uint64_t budget_bytes = 0;
  double max_admission = 1;
  DemandOptions demand;
};

/// What the policy keeps of the lists within the budget, for the log's demand. `engine` ran the log.
CachePlan make_plan(const QueryEngine& engine, const CacheBlocks& blocks, const LogDemand& demand,
                    const PlanOptions& options);

/// "visited", "probed".
std::string_view visit_kind_name(VisitKind kind);
/// Throws InvalidArgument for another name.
VisitKind visit_kind_named(std::string_view name);

}  // namespace quern
