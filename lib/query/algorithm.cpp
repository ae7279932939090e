#include "quern/query/algorithm.hpp"

#include "quern/core/named.hpp"

namespace quern {

const std::vector<QueryAlgorithm>& all_algorithms() {
  static const std::vector<QueryAlgorithm> algorithms = {
      {"maxscore", "documents with any of the terms; windows and postings that can't count are passed over",
       Matching::any, run_maxscore},
      {"bmw", "documents with any of the terms, by block-max WAND", Matching::any, run_bmw},
      {"wand", "documents with any of the terms, by WAND", Matching::any, run_wand},
      {"or", "documents with any of the terms, every posting scored", Matching::any, run_or},
      {"and", "documents with all of the terms", Matching::all, run_and},
      {"and-or", "documents with all of the terms; where those are fewer than k, with any of them instead",
       Matching::all_else_any, run_and_or},
  };
  return algorithms;
}

const QueryAlgorithm& algorithm_named(std::string_view name) {
  return find_named(all_algorithms(), name, "query algorithm");
}

}  // namespace quern
