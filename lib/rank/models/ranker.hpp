#pragma once
#include <memory>
#include <span>

#include "quern/core/feature_columns.hpp"
#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// Where the time of scoring goes, in seconds of one thread's processor time.
struct RankerStages {
  double inputs = 0;  ///< transformations of features, and making them ready for trees
  double trees = 0;
  double layers = 0;  ///< of networks; of linear models the sum
};

/// A model that is ready to score documents on the CPU. Many threads may score at once.
class Ranker {
 public:
  virtual ~Ranker() = default;
  /// Fills scores[d] for each document d; `features` has a column for each of RankerModel::features. The scores have
  /// the same bits whatever the processor, and however documents are divided among calls.
  virtual void score(const FeatureColumns& features, std::span<double> scores) const = 0;
  /// The same, and adds the time of each stage to `stages`. Rankers without stages add nothing.
  virtual void score(const FeatureColumns& features, std::span<double> scores, RankerStages& stages) const;
};

/// Prepares a model for fast evaluation, with the loops of simd_level(). Throws InvalidArgument if it names a function
/// that does not exist, or contradicts itself (check_model()).
std::unique_ptr<Ranker> make_ranker(const RankerModel& model);

/// The same scores by following each tree from its root, document by document, for tests and benchmarks: what fast
/// evaluation is compared with.
std::unique_ptr<Ranker> make_plain_ranker(const RankerModel& model);

}  // namespace quern
