#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/core/feature_columns.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/models/kernels.hpp"
#include "quern/rank/models/stage_clock.hpp"

namespace quern {

/// Trees over many documents: ranks of features first, then trees in groups that stay in the cache while blocks of
/// documents go by.
class TreeEvaluator {
 public:
  /// check_model() must have passed the trees.
  TreeEvaluator(const TreeEnsemble& trees, SimdLevel level);

  /// Fills scores[d] with the sums of the documents' leaves, as TreeEnsemble says.
  void score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const;

  /// Writes the leaves of documents_per_block documents at most as float32: documents_per_block values for each tree,
  /// of which the rest may be anything.
  void store(const FeatureColumns& block, float* leaves, StageClock& clock) const;

 private:
  class Chunk;

  /// Consecutive trees that are evaluated together.
  struct Run {
    std::uint64_t first = 0, end = 0;
    bool walked = false;
    bool ends_group = false;  ///< a sum ends with it
  };

  void add_runs(std::uint64_t first, std::uint64_t end, bool ends_group);
  void score_chunk(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const;
  void add_run(const Run& run, const Chunk& chunk, std::size_t block, double* sums) const;
  std::size_t chunk_documents() const;

  const RankerKernels& kernels_;
  TreeProgram program_;
  std::vector<TreeInput> inputs_;
  std::vector<Run> runs_;
  double base_;
  bool to_float32_;
  std::size_t groups_;
};

}  // namespace quern
