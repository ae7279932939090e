#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/query/algorithm.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// How documents are scored. The index's own k1 and b unless told otherwise.
struct ScoringOptions {
  Bm25Parameters bm25;
  Idf idf = Idf::lucene;
};

/// Answers queries over one index. Thread-safe where each thread brings its own analyzer.
class QueryEngine {
 public:
  QueryEngine(const IndexReader& index, const ScoringOptions& options);

  Analyzer make_analyzer() const { return Analyzer(index_.manifest().analyzer); }
  /// The k best documents for a query's text, best first. Adds to `statistics`, where there are any.
  std::vector<ScoredDocument> search(std::string_view text, const QueryAlgorithm& algorithm, std::size_t k,
                                     Analyzer& analyzer, QueryStatistics* statistics = nullptr) const;
  const IndexReader& index() const { return index_; }

 private:
  std::vector<WeightedList> lists_of(std::vector<std::string> terms, bool& all_found) const;

  const IndexReader& index_;
  ScoringOptions options_;
  std::vector<float> constants_;
};

/// A query's results, and what they took.
struct QueryAnswer {
  std::vector<ScoredDocument> documents;
  QueryStatistics statistics;
  double time_us = 0;
};

/// Runs queries over `threads` threads and hands their answers to `take` in the order of the queries, in this thread.
void run_batch(const QueryEngine& engine, std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
               std::size_t k, unsigned threads, const std::function<void(std::size_t, const QueryAnswer&)>& take);

}  // namespace quern
