#pragma once
#include "quern/formats/rankers/ranker_model.hpp"

/// Random models and document features with the sizes and shapes of real ones, for benchmarks.
namespace quern {

/// The structure of a synthetic ranker.
struct SynthRankerShape {
  std::string_view name, description;
  std::uint32_t buckets = 0, linear = 0, log_linear = 0, trees = 0;  ///< inputs of the network
  std::uint32_t layers = 1;
};

/// The rankers of Tadros (2015), table 4.2. The thesis gives neither the number of neurons between the two layers of
/// R-L-D nor the sizes of trees.
inline constexpr SynthRankerShape all_synth_rankers[] = {
    {"R-S-BLG", "125 inputs made of one feature each, one layer", 54, 2, 69, 0, 1},
    {"R-M-BGD", "15 inputs made of one feature each, 500 trees, one layer", 10, 0, 5, 500, 1},
    {"R-L-D", "1,250 trees, two layers", 0, 0, 0, 1250, 2},
};

struct SynthRankerOptions {
  std::uint32_t features = 136;  ///< the number of MSLR-WEB30K; at least 1
  std::uint32_t leaves = 64;     ///< per tree; at least 1
  std::uint32_t hidden = 64;     ///< neurons between two layers, rectified
  std::uint64_t seed = 1;
};

/// Trees whose sum is the score. They grow like LightGBM's, leaf by leaf, where most documents are; thresholds are
/// among 255 quantiles of a feature. Throws InvalidArgument without features or leaves.
RankerModel synth_trees(std::uint32_t trees, const SynthRankerOptions& options);

RankerModel synth_ranker(const SynthRankerShape& shape, const SynthRankerOptions& options);

/// Features of documents, stored by feature: a quarter each are counts, long-tailed numbers, few integers and numbers
/// around 0. A document's features depend only on the seed and its number.
class SynthFeatures {
 public:
  SynthFeatures(std::uint32_t features, std::size_t documents, std::uint64_t seed);

  FeatureColumns columns() const { return {values_.data(), documents_, stride_}; }

 private:
  std::size_t documents_, stride_;
  std::vector<float> values_;
};

}  // namespace quern
