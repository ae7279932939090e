#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/lab/rerank_bench.hpp"

namespace quern {

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
