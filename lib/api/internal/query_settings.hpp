#pragma once
#include <span>
#include <vector>

#include "quern/api/cache_plan.hpp"
#include "quern/api/internal/stage_reports.hpp"
#include "quern/api/searcher.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/plan/log_demand.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_terms.hpp"

namespace quern::api {

/// A caller's choice, completed by the index's settings.
ScoringOptions scoring_options(const Scoring& scoring, const IndexReader& index);

/// How the queries run that a plan is for. Throws WrongUsage for an alpha that their scorer has none of.
ScoringOptions scoring_options(const PlanOptions& options, const IndexReader& index);
/// How their use of lists is counted.
DemandOptions demand_options(const PlanOptions& options);
/// Remarks if early termination is off, so that queries read all of their lists.
void remark_on_visits(const QueryEngine& engine, const TakeRemark& take);

/// The terms of a query that is a vector, as they were given.
QueryTerms terms_of(const Query& vector);

/// Documents as programs get them.
inline std::vector<Hit> hits_of(std::span<const ScoredDocument> documents) {
  std::vector<Hit> hits;
  hits.reserve(documents.size());
  for (const ScoredDocument& document : documents) hits.push_back({document.docid, document.score});
  return hits;
}

/// Throws InvalidArgument for a value that isn't a device.
inline QueryDevice query_device(Device device) {
  switch (device) {
    case Device::cpu:
      return QueryDevice::cpu;
    case Device::gpu:
      return QueryDevice::gpu;
    case Device::automatic:
      return QueryDevice::automatic;
  }
  throw quern::InvalidArgument("unknown device");
}

}  // namespace quern::api
