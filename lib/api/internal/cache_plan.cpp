#include "quern/api/cache_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/query_settings.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/plan/cache_plan.hpp"
#include "quern/text/utf8.hpp"

namespace quern::api {
namespace {

std::uint64_t budget_bytes(const PlanOptions& options, const CacheBlocks& blocks) {
  if (options.budget_bytes != 0) return options.budget_bytes;
  check_range("budget", options.budget_share, 0, 1);
  if (options.budget_share == 0) throw InvalidArgument(fmt::format("a plan needs a {}", option_name<"budget">));
  // A byte is left, so that a small share is refused as too small.
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(options.budget_share * static_cast<double>(blocks.index_bytes())));
}

ScoringOptions scoring_for(const PlanOptions& options, const IndexReader& index) {
  Scoring scoring;
  scoring.scores = options.scores;
  if (options.scorer) scoring.scorer = *options.scorer;
  ScoringOptions out = scoring_options(scoring, index);
  if (!options.scorer) out.scorer = default_plan_scorer(index, out.scores);
  return out;
}

quern::PlanOptions plan_options(const PlanOptions& options, const CacheBlocks& blocks, QueryKind kind) {
  quern::PlanOptions out;
  if (!options.policy.empty()) out.policy = options.policy;
  out.budget_bytes = budget_bytes(options, blocks);
  out.max_admission = options.max_admission;
  out.demand.k = options.k;
  out.demand.queries = kind;
  return out;
}

PlanReport report_of(const PlanManifest& manifest) {
  PlanReport report;
  report.queries = manifest.queries;
  report.distinct_queries = manifest.distinct_queries;
  report.unknown_queries = manifest.unknown_queries;
  report.empty_queries = manifest.empty_queries;
  report.cached_bytes = manifest.cached_bytes;
  report.index_bytes = manifest.index_bytes;
  report.cached_blocks = manifest.cached_blocks;
  report.lists = manifest.lists;
  return report;
}

/// A vector's terms as the text of a query, with weights of 1 and 0.
std::string json_of_terms(const std::vector<WeightedTerm>& query) {
  std::vector<QueryTerm> terms = query_terms(query);
  for (QueryTerm& term : terms) {
    if (!(term.weight >= 0) || !std::isfinite(term.weight))
      throw InvalidArgument(fmt::format("the weight of {} in a query is {}; weights are finite and not negative",
                                        quoted_start(term.term), term.weight));
    term.weight = term.weight > 0 ? 1 : 0;
  }
  return query_vector_text(terms);
}

/// `log` hands the texts of queries over, one after another.
PlanReport plan_log(const Index& index, QueryKind kind, const ReadQueries& log, const std::string& path,
                    const PlanOptions& options, const Work& work) {
  const WorkResources resources(work, folder_of(path));
  const IndexReader& reader = index.impl()->reader;
  check_range("k", options.k, 1, end_docid);
  const LogPlanner planner(reader, scoring_for(options, reader), options.caching_block, resources);
  return report_of(planner.write(plan_options(options, planner.blocks(), kind), log, path, options.overwrite));
}

}  // namespace

std::vector<std::string> policies() {
  return with_api_errors([] { return names_of(all_cache_policies()); });
}

PlanReport plan_cache(const Index& index, std::span<const std::string_view> queries, const std::string& path,
                      const PlanOptions& options, const Work& work) {
  return with_api_errors([&] {
    const auto log = [&](const std::function<void(std::string_view)>& take) {
      for (const std::string_view query : queries) take(query);
    };
    return plan_log(index, QueryKind::text, log, path, options, work);
  });
}

PlanReport plan_cache(const Index& index, std::span<const std::vector<WeightedTerm>> queries, const std::string& path,
                      const PlanOptions& options, const Work& work) {
  return with_api_errors([&] {
    const auto log = [&](const std::function<void(std::string_view)>& take) {
      for (const std::vector<WeightedTerm>& query : queries) take(json_of_terms(query));
    };
    return plan_log(index, QueryKind::vector, log, path, options, work);
  });
}

}  // namespace quern::api
