#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/search/intersect.hpp"
#include "quern/search/search_backend.hpp"

/// Queries of tests in the form that engines accept.
namespace quern::testing {

/// A query of these terms, each weighted by its number of occurrences.
inline QueryTerms query_of(std::vector<std::string> terms) {
  std::sort(terms.begin(), terms.end());
  QueryTerms query;
  for (std::string& term : terms) {
    if (!query.empty() && query.back().term == term)
      query.back().weight += 1;
    else
      query.push_back({std::move(term), 1});
  }
  return query;
}

/// Texts, read for an engine, which may be anything with a reader().
template <class Engine, class Texts>
ParsedQueries read_all(const Engine& engine, const Texts& texts) {
  const std::vector<std::string_view> views(std::begin(texts), std::end(texts));
  return engine.reader().read(views, 1);
}
template <class Engine>
ParsedQueries read_one(const Engine& engine, std::string_view text) {
  return engine.reader().read({&text, 1}, 1);
}

/// The GPUs' results for texts that are read for an engine.
template <class Gpus>
auto search_texts(Gpus& gpus, const QueryEngine& engine, std::span<const std::string_view> texts,
                  const QueryAlgorithm& algorithm, std::size_t k, auto... more) {
  return gpus.search(read_all(engine, texts).views(), algorithm, k, more...);
}

}  // namespace quern::testing
