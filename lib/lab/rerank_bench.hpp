#pragma once
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/ranker.hpp"

/// Measures the speed of learned models on queries' documents.
namespace quern {

/// A model to measure, which must outlive the measurement.
struct RerankSubject {
  std::string name;
  const RankerModel* model = nullptr;
};

struct RerankBenchOptions {
  std::vector<std::size_t> documents;  ///< documents per query; one row of figures each
  unsigned repeats = 5;
  unsigned threads = 1;                  ///< that share the documents of a query; 1: only one thread is measured
  std::size_t documents_compared = 256;  ///< with plain evaluation, before timing
};

/// Figures of one model with one number of documents per query.
struct RerankFigures {
  std::string ranker;
  std::string device = "cpu";
  std::size_t documents = 0;  ///< per query
  unsigned threads = 1;       ///< that share a query's documents
  std::size_t queries = 0;    ///< per repeat
  /// Per query, median over the repeats: processor time with one thread, otherwise wall-clock time.
  double seconds = 0;
  RankerStages stages;           ///< per query on one thread; medians over the repeats
  std::optional<double> joules;  ///< of the processors per query, idle power included; empty if unknown

  double ns_per_document() const { return 1e9 * seconds / static_cast<double>(documents); }
  double documents_per_second() const { return static_cast<double>(documents) / seconds; }
};

/// Throws InvalidArgument without models, documents or repeats, or if a query has more documents than `features`.
void check_rerank_options(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                          const RerankBenchOptions& options);

/// Scores documents of `features`, which must have the columns of every model and at least as many documents as the
/// largest query. First compares with plain evaluation: throws Error if a score differs in a bit. Then measures all
/// models with all numbers of documents `repeats` times in turn, forwards and backwards. Queries have different
/// documents if there are enough. Throws like check_rerank_options().
std::vector<RerankFigures> measure_reranking(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                                             const RerankBenchOptions& options, Progress& progress);

// Common parts of the benchmarks of models on CPUs and GPUs.

/// Queries of `documents` documents each, enough of them for a measurable time. They have different documents if there
/// are enough.
class RerankQueries {
 public:
  /// `features` must have at least as many documents as a query, and must outlive the object.
  RerankQueries(const FeatureColumns& features, std::size_t documents);

  std::size_t count() const { return count_; }
  /// Calls what(documents of a query) for each query; continues where the last call ended.
  void for_each(const std::function<void(const FeatureColumns&)>& what);

 private:
  const FeatureColumns& features_;
  std::size_t documents_, count_;
  std::size_t first_ = 0;  ///< document of the next query
};

/// Scores documents.
using ScoreDocuments = std::function<void(const FeatureColumns&, std::span<double>)>;

/// Throws Error, naming model and document, if a score differs in a bit from that of `expected`.
void check_scores(const std::string& name, const FeatureColumns& features, const ScoreDocuments& expected,
                  const ScoreDocuments& score);

/// The first documents, at most `documents`.
inline FeatureColumns first_documents(const FeatureColumns& features, std::size_t documents) {
  return {features.values, std::min(documents, features.documents), features.stride};
}
/// Compares the scores of the first documents with plain evaluation. Throws likewise.
void check_scores(const RerankSubject& subject, const FeatureColumns& features, std::size_t documents,
                  const ScoreDocuments& score);

/// The largest difference of two scores, relative to the largest score.
double largest_difference(const FeatureColumns& features, const ScoreDocuments& expected, const ScoreDocuments& score);

/// Compares a model's times on a GPU with those on the CPU.
struct RerankSummary {
  std::string ranker;
  /// The smallest measured number of documents per query from which on the GPU is always faster than one core; empty if
  /// it is slower even with the most.
  std::optional<std::size_t> min_documents;
  std::size_t max_documents = 0;          ///< per query
  double speedup = 0;                     ///< with max_documents, over one core
  std::optional<double> threads_speedup;  ///< over all threads, if measured
};

/// Summaries of the models with figures in both, in the order of `on_gpu`.
std::vector<RerankSummary> summarize_reranking(std::span<const RerankFigures> on_cpu,
                                               std::span<const RerankFigures> on_gpu);

/// The harmonic mean of the models' speedups over one core (Tadros 2015, section 5); 0 without models.
double mean_speedup(std::span<const RerankSummary> summaries);

}  // namespace quern
