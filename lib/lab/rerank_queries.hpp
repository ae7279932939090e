#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "quern/core/feature_columns.hpp"
#include "quern/formats/rankers/ranker_model.hpp"

/// What measurements of models share, whatever processor scores.
namespace quern {

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

}  // namespace quern
