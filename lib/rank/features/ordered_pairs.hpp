#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// How often two terms that follow each other in the query do so in a stream.
struct OrderedPairs {
  static constexpr FeatureInfo features[] = {
      {"ordered_pairs", FeatureKind::dynamic,
       "pairs of neighbouring tokens of one phrase that are neighbours in the query, in that order"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    std::uint32_t pairs = 0;
    for (std::uint32_t i = 1; i < stream.num_hits; ++i) {
      const WordHit &before = stream.hits[i - 1], &hit = stream.hits[i];
      if (hit.offset == before.offset + 1 && hit.phrase == before.phrase && follow(stream.query, before.word, hit.word))
        ++pairs;
    }
    values[0] = pairs;
  }

 private:
  static constexpr bool follow(const FeatureQueryView& query, std::uint32_t first, std::uint32_t second) {
    if (query.first_follower != nullptr) return is_follower(query, first, second);
    for (std::uint32_t i = 1; i < query.length; ++i)
      if (query.sequence[i - 1] == first && query.sequence[i] == second) return true;
    return false;
  }

  /// Binary search among the followers of a term.
  static constexpr bool is_follower(const FeatureQueryView& query, std::uint32_t first, std::uint32_t second) {
    std::uint32_t begin = query.first_follower[first], end = query.first_follower[first + 1];
    while (begin < end) {
      const std::uint32_t middle = begin + (end - begin) / 2;
      if (query.followers[middle] == second) return true;
      if (query.followers[middle] < second) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return false;
  }
};

}  // namespace quern
