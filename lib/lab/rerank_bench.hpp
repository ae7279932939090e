#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/core/feature_columns.hpp"
#include "quern/core/resources.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/ranker.hpp"

/// Measures how fast learned models score the documents of queries.
namespace quern {

/// A model to measure, which must outlive the measurement.
struct RerankSubject {
  std::string name;
  const RankerModel* model = nullptr;
};

struct RerankBenchOptions {
  std::vector<std::size_t> documents;  ///< of a query; a row of figures for each
  unsigned repeats = 5;
  unsigned threads = 1;                  ///< of queries whose documents are divided; no such figures if 1
  std::size_t documents_compared = 256;  ///< with plain evaluation, before anything is timed
};

/// One model with one number of documents a query.
struct RerankFigures {
  std::string ranker;
  std::string device = "cpu";
  std::size_t documents = 0;  ///< a query
  unsigned threads = 1;       ///< that share a query's documents
  std::size_t queries = 0;    ///< a repeat
  /// For a query, the median over the repeats: processor time where there is one thread, else time by the clock.
  double seconds = 0;
  RankerStages stages;           ///< for a query on one thread; medians over the repeats
  std::optional<double> joules;  ///< of the processors for a query, the machine's rest included; none if unknown

  double ns_per_document() const { return 1e9 * seconds / static_cast<double>(documents); }
  double documents_per_second() const { return static_cast<double>(documents) / seconds; }
};

/// Throws InvalidArgument without models, documents or repeats, or if a query has more documents than `features`.
void check_rerank_options(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                          const RerankBenchOptions& options);

/// Scores documents of `features`, which has the columns of every model and as many documents as the largest query at
/// least, first by plain evaluation too: throws Error if a score differs in a bit. Then measures all models with all
/// numbers of documents `repeats` times in turn, forwards and backwards. Different queries have different documents
/// where there are enough. Throws what check_rerank_options() does.
std::vector<RerankFigures> measure_reranking(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                                             const RerankBenchOptions& options, Progress& progress);

}  // namespace quern
