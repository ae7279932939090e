#pragma once
#include <cstddef>
#include <functional>
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

// What measurements of models share, whatever processor scores.

/// Queries with so many documents each, enough for a time that clocks can measure. They have different documents where
/// there are enough.
class RerankQueries {
 public:
  /// `features` has as many documents as a query at least, and must outlive this.
  RerankQueries(const FeatureColumns& features, std::size_t documents);

  std::size_t count() const { return count_; }
  /// Calls what(documents of a query) for each query; goes on where the last call ended.
  void for_each(const std::function<void(const FeatureColumns&)>& what);

 private:
  const FeatureColumns& features_;
  std::size_t documents_, count_;
  std::size_t first_ = 0;  ///< document of the next query
};

/// Scores documents: what is compared.
using ScoreDocuments = std::function<void(const FeatureColumns&, std::span<double>)>;

/// Throws Error, naming the model and the document, if a score differs in a bit from what `expected` gives.
void check_scores(const std::string& name, const FeatureColumns& features, const ScoreDocuments& expected,
                  const ScoreDocuments& score);

/// The largest difference of two scores, in relation to the largest score.
double largest_difference(const FeatureColumns& features, const ScoreDocuments& expected, const ScoreDocuments& score);

/// A model's times on a GPU beside those on the CPU.
struct RerankSummary {
  std::string ranker;
  /// The fewest documents a query, of those measured, from which on the GPU is always ahead of one core; none if it is
  /// not with the most.
  std::optional<std::size_t> fewest_documents;
  std::size_t most_documents = 0;         ///< a query
  double speedup = 0;                     ///< with so many, against one core
  std::optional<double> threads_speedup;  ///< against all threads, if that was measured
};

/// Summaries of the models that both have figures of, in the order of `on_gpu`.
std::vector<RerankSummary> summarize_reranking(std::span<const RerankFigures> on_cpu,
                                               std::span<const RerankFigures> on_gpu);

/// The harmonic mean of the models' speedups against one core (Tadros 2015, section 5); 0 without models.
double mean_speedup(std::span<const RerankSummary> summaries);

}  // namespace quern
