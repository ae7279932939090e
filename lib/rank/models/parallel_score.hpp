#pragma once
#include <tbb/parallel_for.h>

#include <algorithm>
#include <span>

#include "quern/core/run_stage.hpp"
#include "quern/rank/models/ranker.hpp"

namespace quern {

/// Fewer documents than these are no work for a thread.
inline constexpr std::size_t min_documents_per_thread = 64;

/// Scores with documents divided among `threads` threads: the scores of one call.
inline void score_on_threads(const Ranker& ranker, const FeatureColumns& features, std::span<double> scores,
                             unsigned threads) {
  // Parts begin where a thread's loads are whole groups of documents.
  constexpr std::size_t unit = min_documents_per_thread;
  static_assert(unit % FeatureColumns::documents_per_group == 0);
  const std::size_t units = (features.documents + unit - 1) / unit;
  const std::size_t step = (units + threads - 1) / threads * unit;
  if (threads == 1 || units <= 1) return ranker.score(features, scores);
  on_threads(threads, [&] {
    tbb::parallel_for(std::size_t{0}, (features.documents + step - 1) / step, [&](std::size_t part) {
      const std::size_t first = part * step, some = std::min(step, features.documents - first);
      ranker.score({features.values + first, some, features.stride}, scores.subspan(first, some));
    });
  });
}

}  // namespace quern
