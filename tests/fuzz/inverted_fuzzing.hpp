#pragma once
#include <cstdlib>

#include "quern/core/error.hpp"

#include "../index/exchange/foreign_files.hpp"

namespace quern::testing {

/// Aborts unless an index can be built from a reader's output.
inline void check_inverted(const InvertedModel& model) {
  if (!model.ended || model.documents.size() != model.counts.documents) std::abort();
  for (const auto& list : model.lists) {
    std::uint64_t least = 0;
    for (const auto& [docid, freq] : list.postings) {
      if (docid < least || docid >= model.counts.documents || freq == 0) std::abort();
      least = docid + std::uint64_t{1};
    }
  }
}

inline void check_same_inverted(const InvertedModel& a, const InvertedModel& b) {
  if (a.lists != b.lists || a.documents != b.documents) std::abort();
}

}  // namespace quern::testing
