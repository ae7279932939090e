#pragma once
#include <algorithm>
#include <vector>

#include "quern/search/query_engine.hpp"

namespace quern::testing {

/// The results of several queries.
using QueryResults = std::vector<std::vector<ScoredDocument>>;

/// Whether all documents and the bits of their scores are equal. Uses no Catch check, since those work in one thread
/// only.
inline bool are_same(const QueryResults& a, const QueryResults& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const ScoredDocument& m, const ScoredDocument& n) {
      return m.docid == n.docid && m.score == n.score;
    });
  });
}

}  // namespace quern::testing
