#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/core/feature_columns.hpp"
#include "quern/core/scratch_memory.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/transformation.hpp"
#include "quern/rank/models/tree_evaluator.hpp"

namespace quern {

/// Evaluates a network over blocks of documents: each input and each neuron is a row of documents_per_block values.
class NetworkEvaluator {
 public:
  /// The model must pass check_model().
  NetworkEvaluator(const NetworkModel& model, SimdLevel level);

  void score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const;

 private:
  /// A block's rows: inputs and the neurons of two layers.
  struct Rows {
    std::vector<float> inputs, neurons, next_neurons;
  };

  std::unique_ptr<Rows> make_rows() const;
  void score_block(const FeatureColumns& block, std::span<double> scores, Rows& rows, StageClock& clock) const;

  const RankerKernels& kernels_;
  std::vector<Transformation> transformations_;
  std::vector<FreeFunction> functions_;  ///< by transformation; set for free-form ones
  TreeEvaluator trees_;
  std::vector<DenseLayer> layers_;
  /// Pooled, since allocating a megabyte takes longer than scoring a few documents.
  mutable SparePool<Rows> rows_;
};

}  // namespace quern
