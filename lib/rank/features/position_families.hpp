#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_list.hpp"

namespace quern {

/// The positions of the first and the last hit in a stream.
struct Places {
  static constexpr FeatureInfo features[] = {
      {"first", FeatureKind::dynamic, "tokens before the first hit; L if there is none"},
      {"last", FeatureKind::dynamic, "tokens up to the last hit, that included; 0 if there is none"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    values[0] = stream.num_hits == 0 ? stream.length : stream.hits[0].offset;
    values[1] = stream.num_hits == 0 ? 0.0 : stream.hits[stream.num_hits - 1].offset + 1.0;
  }
};

/// How often terms that are adjacent in the query are adjacent in a stream.
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
      if (query.followers[middle] < second)
        begin = middle + 1;
      else
        end = middle;
    }
    return false;
  }
};

/// The shortest run of a stream that contains all matched terms.
struct LeastSpan {
  static constexpr FeatureInfo features[] = {
      {"span", FeatureKind::dynamic, "tokens of the shortest run that has all m matched terms; 0 if m = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    std::uint32_t missing = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) {
      stream.scratch[i] = 0;  // hits in the run
      missing += stream.tf[i] > 0;
    }
    std::uint32_t least = 0, begin = 0;
    for (std::uint32_t end = 0; end < stream.num_hits; ++end) {
      if (stream.scratch[stream.hits[end].word]++ == 0) --missing;
      for (; missing == 0; ++begin) {
        const std::uint32_t span = stream.hits[end].offset - stream.hits[begin].offset + 1;
        if (least == 0 || span < least) least = span;
        if (--stream.scratch[stream.hits[begin].word] == 0) ++missing;
      }
    }
    values[0] = least;
  }
};

/// The phrase of a stream with the most query terms.
struct PhraseMatch {
  static constexpr FeatureInfo features[] = {
      {"phrase_match", FeatureKind::dynamic,
       "maximum number of distinct terms of the query in one phrase, / Q; 0 if Q = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i)
      stream.scratch[i] = 0;  // the last phrase that contains the term, + 1
    std::uint32_t greatest = 0, distinct = 0;
    for (std::uint32_t i = 0; i < stream.num_hits; ++i) {
      const WordHit& hit = stream.hits[i];
      if (i > 0 && hit.phrase != stream.hits[i - 1].phrase) distinct = 0;
      if (stream.scratch[hit.word] != hit.phrase + 1) ++distinct;
      stream.scratch[hit.word] = hit.phrase + 1;
      if (distinct > greatest) greatest = distinct;
    }
    values[0] = stream.query.num_terms == 0 ? 0.0 : static_cast<double>(greatest) / stream.query.num_terms;
  }
};

}  // namespace quern
