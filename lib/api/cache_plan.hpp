#pragma once
#include "quern/api/searcher.hpp"

namespace quern::api {

/// How a cache plan is made: `quern plan`. One of the four budgets counts.
struct PlanOptions {
  std::string policy;                         ///< one of policies(); empty: the first of them
  std::optional<std::uint64_t> budget_bytes;  ///< of GPU memory for lists
  double budget_share = 0;                    ///< of the size of all lists, above 0
  std::uint64_t gpu_memory_bytes = 0;         ///< that queries may take; lists get what the engine leaves of it
  double gpu_memory_share = 0;                ///< likewise, as a share of the size of all lists
  std::uint64_t list_buffer_bytes = 0;        ///< of strategy wang, which leaves all else to the plan; 0: none
  double max_admission = 1;                   ///< the largest share of a list to keep
  std::size_t k = 10;                         ///< results per query
  Idf idf = Idf::lucene;                      ///< of the queries that the plan is for
  Scores scores = Scores::exact;              ///< likewise
  std::optional<Scorer> scorer;     ///< none: bm25_pagerank if the index has global scores and scores are exact
  std::optional<double> alpha;      ///< of bm25_pagerank; none: the index's, or 0.3
  std::uint64_t caching_block = 0;  ///< postings per caching block; 0: the index's default
  /// Postings of a query's shortest list between two checks for early termination; 0: the index's default.
  std::uint64_t round = 0;
  /// Count a list's blocks up to the last document that is looked up in it; false: that is found.
  bool count_probed = false;
  bool json_queries = false;  ///< texts of queries are JSON objects of terms and weights
  bool overwrite = false;
};

/// The contents of a plan.
struct PlanReport {
  std::uint64_t queries = 0, distinct_queries = 0, unknown_queries = 0, empty_queries = 0;
  std::uint64_t cached_bytes = 0, index_bytes = 0, cached_blocks = 0, lists = 0;
  std::string figures;  ///< with all settings, as JSON: what `quern plan --json` prints
};

/// Hands over the queries of a log, in order.
using QueryLog = std::function<void(const std::function<void(const Query&)>& take)>;

/// The names of caching policies, the default first.
QUERN_API std::vector<std::string> policies();

/// Chooses from a log of queries the blocks that a GPU's memory should hold, and writes the plan to `path`. The terms
/// of a vector count alike, except those of weight 0. Throws Error: invalid_argument for options out of range, existing
/// output, a budget that holds nothing, and a weight that is negative or not finite.
QUERN_API PlanReport plan_cache(const Index& index, const QueryLog& log, const std::string& path,
                                const PlanOptions& options, const Work& work = {});

}  // namespace quern::api
