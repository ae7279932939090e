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

/// A network over blocks of documents: each input, and each neuron, is a row of documents_per_block values.
class NetworkEvaluator {
 public:
  /// check_model() must have passed the model.
  NetworkEvaluator(const NetworkModel& model, SimdLevel level);

  void score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const;

 private:
  /// A block's rows: inputs, and the neurons of two layers.
  struct Rows {
    std::vector<float> inputs, neurons, next_neurons;
  };

  std::unique_ptr<Rows> make_rows() const;
  void score_block(const FeatureColumns& block, std::span<double> scores, Rows& rows, StageClock& clock) const;

  const RankerKernels& kernels_;
  std::vector<Transformation> transformations_;
  std::vector<FreeFunction> functions_;  ///< by transformation; of free-form ones
  TreeEvaluator trees_;
  std::vector<DenseLayer> layers_;
  /// Of a megabyte, which takes longer to get from the system than a few documents take.
  mutable SparePool<Rows> rows_;
};

}  // namespace quern
