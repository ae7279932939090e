#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/api/searcher.hpp"

namespace quern::api {

/// Appends the results of one query as lines of a TREC run, just as `quern query` writes them. `docids` and `scores`
/// belong together, best first. Throws Error: invalid_argument for a docID that the index doesn't have.
QUERN_API void append_trec_run(std::string& out, const Index& index, std::string_view qid,
                               std::span<const std::uint32_t> docids, std::span<const float> scores,
                               std::string_view tag = "quern");

/// Measures of a run.
struct Evaluation {
  std::vector<std::string> measures;  ///< as trec_eval names them: "map", "P_10"
  std::vector<double> values;         ///< of each measure, over all queries
  std::vector<std::string> qids;
  std::vector<double> by_query;  ///< qids.size() * measures.size(), query by query
};

/// Measures a TREC run by judgements, as `quern eval` and trec_eval do. `measures`: names such as "map", "P.10" or
/// "ndcg_cut.10"; none: the usual ones. Throws Error: corrupt_file for what is no run or no judgements, io,
/// invalid_argument for unknown measures.
QUERN_API Evaluation evaluate(const std::string& run_text, const std::string& qrels_path,
                              const std::vector<std::string>& measures = {}, const Work& work = {});

}  // namespace quern::api
