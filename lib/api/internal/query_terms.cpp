#include "quern/api/internal/query_terms.hpp"

#include <algorithm>
#include <string>

namespace quern::api {

std::vector<QueryTerm> query_terms(std::span<const WeightedTerm> terms) {
  std::vector<WeightedTerm> sorted(terms.begin(), terms.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const WeightedTerm& a, const WeightedTerm& b) { return a.term < b.term; });
  std::vector<QueryTerm> out;
  out.reserve(sorted.size());
  for (const WeightedTerm& term : sorted) {
    if (!out.empty() && out.back().term == term.term && out.back().weight >= 0 && term.weight >= 0) {
      out.back().weight += term.weight;
    } else {
      out.push_back({std::string(term.term), term.weight});
    }
  }
  return out;
}

}  // namespace quern::api
