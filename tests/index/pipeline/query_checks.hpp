#pragma once
#include <algorithm>
#include <bit>

#include "quern/core/random.hpp"
#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "index/pipeline/model_index.hpp"

/// Compares an engine's results with the reference scorer's: equal documents and bit-equal scores.
namespace quern::testing {

inline std::vector<std::string> draw_query(RandomBits& random, const std::vector<std::string>& terms) {
  std::vector<std::string> query;
  const std::size_t size = 1 + random.below(6);
  while (query.size() < size) {
    const std::uint64_t kind = random.below(12);
    if (kind == 0) {
      query.push_back("unknown" + std::to_string(random.below(3)));
    } else if (kind == 1) {
      query.push_back("everywhere");
    } else if (kind == 2) {
      query.push_back("often");
    } else if (kind == 3 && !query.empty()) {
      query.push_back(query[random.below(query.size())]);
    } else {
      query.push_back(terms[random.below(terms.size())]);
    }
  }
  return query;
}

/// Queries of 1 to 6 terms, some unknown, some repeated; the first few are special cases.
inline std::vector<std::vector<std::string>> draw_queries(std::uint64_t seed, const ModelIndex& model,
                                                          std::size_t count) {
  RandomBits random(seed);
  std::vector<std::string> terms;
  for (const auto& list : model.lists()) terms.push_back(list.first);
  std::vector<std::vector<std::string>> queries = {
      {"unknown"}, {"unknown", "unknown2"}, {}, {"everywhere"}, {"often", "everywhere", "often"}};
  while (queries.size() < count) queries.push_back(draw_query(random, terms));
  return queries;
}

inline std::string text_of(const std::vector<std::string>& terms) {
  std::string text;
  for (const std::string& term : terms) text += term + " ";
  return text;
}

inline void require_same(const std::vector<ScoredDocument>& found, const std::vector<ScoredDocument>& expected) {
  const auto same = [](const ScoredDocument& one, const ScoredDocument& other) {
    return one.docid == other.docid &&
           std::bit_cast<std::uint32_t>(one.score) == std::bit_cast<std::uint32_t>(other.score);
  };
  const auto [first, second] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end(), same);
  const bool all_same = first == found.end() && second == expected.end();
  INFO("first difference at rank " << first - found.begin() + 1 << " of " << found.size() << ", expected "
                                   << expected.size());
  REQUIRE(all_same);
}

/// The expected results of an algorithm.
inline std::vector<ScoredDocument> expected_results(const ModelIndex& model, const std::vector<std::string>& terms,
                                                    Matching matching, std::size_t k,
                                                    const ModelScoring& scoring = {}) {
  if (matching == Matching::all_else_any) {
    auto all = model.search(terms, true, k, scoring);
    if (all.size() == k) return all;
  }
  return model.search(terms, matching == Matching::all, k, scoring);
}

/// Checks a search that leaves out most blocks: its results are the expected ones, or what they lack is below the
/// bound.
inline void check_blocks_left_out(const QueryEngine& engine, QueryView query, const QueryAlgorithm& algorithm,
                                  std::size_t k, const std::vector<ScoredDocument>& expected) {
  QueryStatistics counted;
  const auto found = engine.search(query, within_budget(algorithm, {std::nullopt, 70.0}), k, &counted);
  if (!counted.bound_left) return require_same(found, expected);
  for (const ScoredDocument& document : expected) {
    const bool is_found = std::find(found.begin(), found.end(), document) != found.end();
    REQUIRE((is_found || document.score <= *counted.bound_left));
  }
}

/// Checks all algorithms, for some numbers of results.
inline void check_engine(const QueryEngine& engine, const ModelIndex& model,
                         const std::vector<std::vector<std::string>>& queries, const ModelScoring& scoring,
                         QueryStatistics* statistics = nullptr) {
  Analyzer analyzer = engine.make_analyzer();
  for (const auto& terms : queries) {
    const std::string text = text_of(terms);
    INFO("query " << text);
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      INFO(algorithm.name);
      for (const std::size_t k : {1, 3, 1000}) {
        INFO("k " << k);
        const QueryTerms query = terms_of_text(text, analyzer);
        const auto expected = expected_results(model, terms, algorithm.matching, k, scoring);
        require_same(engine.search(query, algorithm, k, statistics), expected);
        if (algorithm.takes_budget) check_blocks_left_out(engine, query, algorithm, k, expected);
      }
    }
  }
}

}  // namespace quern::testing
