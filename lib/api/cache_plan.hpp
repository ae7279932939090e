#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/api/searcher.hpp"

namespace quern::api {

/// How a cache plan is made: `quern plan`.
struct PlanOptions {
  std::string policy;               ///< one of policies(); empty: the first of them
  std::uint64_t budget_bytes = 0;   ///< of GPU memory for lists; 0: budget_share counts
  double budget_share = 0;          ///< of the size of all lists, above 0
  double max_admission = 1;         ///< the largest share of a list to keep
  std::size_t k = 10;               ///< results per query
  Scores scores = Scores::exact;    ///< of the queries that the plan is for
  std::optional<Scorer> scorer;     ///< none: bm25_pagerank if the index has global scores and scores are exact
  std::uint64_t caching_block = 0;  ///< postings per caching block; 0: the index's default
  bool overwrite = false;
};

/// What a plan holds.
struct PlanReport {
  std::uint64_t queries = 0, distinct_queries = 0, unknown_queries = 0, empty_queries = 0;
  std::uint64_t cached_bytes = 0, index_bytes = 0, cached_blocks = 0, lists = 0;
};

/// The names of caching policies, the default first.
QUERN_API std::vector<std::string> policies();

/// Chooses from a log of queries the blocks that a GPU's memory should hold, and writes the plan to `path`. Throws
/// Error: invalid_argument for options out of range, existing output, and a budget that holds nothing.
QUERN_API PlanReport plan_cache(const Index& index, std::span<const std::string_view> queries, const std::string& path,
                                const PlanOptions& options, const Work& work = {});
/// The same for queries that are vectors, whose terms count alike, but for those of weight 0. Also throws Error:
/// invalid_argument for a weight that is negative or not finite.
QUERN_API PlanReport plan_cache(const Index& index, std::span<const std::vector<WeightedTerm>> queries,
                                const std::string& path, const PlanOptions& options, const Work& work = {});

}  // namespace quern::api
