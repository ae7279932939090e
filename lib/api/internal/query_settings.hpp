#pragma once
#include "quern/api/cache_plan.hpp"
#include "quern/api/internal/stage_reports.hpp"
#include "quern/api/searcher.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/plan/log_demand.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_terms.hpp"

namespace quern::api {

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
