#include "quern/cache/log_queries.hpp"

#include <algorithm>

namespace quern {
namespace {

/// Handed over together.
constexpr std::size_t some_queries = 4096;
/// Behind each term of a key: no term holds it.
constexpr char end_of_term = '\0';

std::vector<std::string> terms_of(std::string_view key) {
  std::vector<std::string> terms;
  while (!key.empty()) {
    const std::size_t end = key.find(end_of_term);
    terms.emplace_back(key.substr(0, end));
    key.remove_prefix(end + 1);
  }
  return terms;
}

}  // namespace

LogQueries::LogQueries(const AnalyzerOptions& analyzer, const Resources& resources)
    : analyzer_(analyzer), sorted_(resources.tmp_folder, resources.memory_bytes / 2) {}

void LogQueries::add(std::string_view text) {
  ++queries_;
  std::vector<std::string> terms = analyzer_.terms(text);
  if (terms.empty()) return;
  std::sort(terms.begin(), terms.end());
  std::string key;
  for (const std::string& term : terms) (key += term) += end_of_term;
  sorted_.add(key, {});
}

std::uint64_t LogQueries::for_each(const std::function<void(std::span<const LogQuery>)>& visit) {
  std::vector<LogQuery> some;
  std::string last;
  std::uint64_t distinct = 0;
  sorted_.merge([&](std::string_view key, ByteView) {
    if (!some.empty() && key == last) {
      ++some.back().count;
      return;
    }
    if (some.size() == some_queries) {
      visit(some);
      some.clear();
    }
    some.push_back({terms_of(key), 1});
    last = key;
    ++distinct;
  });
  if (!some.empty()) visit(some);
  return distinct;
}

}  // namespace quern
