#include "plan_figures.hpp"

namespace quern::tools {

Json to_json(const PlanManifest& manifest) {
  return {{"policy", manifest.policy},
          {"budget_bytes", manifest.budget_bytes},
          {"max_admission", manifest.max_admission},
          {"count", manifest.count},
          {"k", manifest.k},
          {"scorer", manifest.scorer},
          {"alpha", manifest.alpha},
          {"k1", manifest.bm25.k1},
          {"b", manifest.bm25.b},
          {"early_termination", manifest.early_termination},
          {"round", manifest.round},
          {"block", manifest.block},
          {"queries", manifest.queries},
          {"distinct_queries", manifest.distinct_queries},
          {"unknown_queries", manifest.unknown_queries},
          {"empty_queries", manifest.empty_queries},
          {"cached_lists", manifest.lists},
          {"cached_blocks", manifest.cached_blocks},
          {"cached_bytes", manifest.cached_bytes},
          {"index_bytes", manifest.index_bytes},
          {"index_hash", manifest.index_hash}};
}

}  // namespace quern::tools
