#include "quern/rank/models/ranker.hpp"

#include <algorithm>
#include <array>

#include "quern/core/simd_level.hpp"
#include "quern/rank/models/check_model.hpp"
#include "quern/rank/models/network_evaluator.hpp"
#include "quern/rank/models/tree_evaluator.hpp"

namespace quern {
namespace {

/// Evaluates a linear model by blocks of documents; each document's sum keeps the model's order.
class LinearEvaluator {
 public:
  LinearEvaluator(const LinearModel& model, SimdLevel) : model_(model) {}

  void score(const FeatureColumns& features, std::span<double> scores, StageClock& clock) const {
    std::array<double, documents_per_block> sums;
    for (std::size_t first = 0; first < features.documents; first += sums.size()) {
      const std::size_t documents = std::min(sums.size(), features.documents - first);
      sums.fill(model_.intercept);
      for (const LinearModel::Term& term : model_.terms) {
        const float* const values = features.column(term.feature) + first;
        for (std::size_t d = 0; d < documents; ++d) sums[d] += term.weight * linear_input(values[d]);
      }
      for (std::size_t d = 0; d < documents; ++d) scores[first + d] = settled(sums[d]);
    }
    clock.end(&RankerStages::layers);
  }

 private:
  LinearModel model_;
};

template <class Evaluator>
class FastRanker : public Ranker {
 public:
  template <class Function>
  FastRanker(const Function& function, SimdLevel level) : evaluator_(function, level) {}

  void score(const FeatureColumns& features, std::span<double> scores) const override {
    StageClock none(nullptr);
    evaluator_.score(features, scores, none);
  }

  void score(const FeatureColumns& features, std::span<double> scores, RankerStages& stages) const override {
    StageClock clock(&stages);
    evaluator_.score(features, scores, clock);
  }

 private:
  Evaluator evaluator_;
};

std::unique_ptr<Ranker> fast_ranker(const TreeEnsemble& trees) {
  return std::make_unique<FastRanker<TreeEvaluator>>(trees, simd_level());
}
std::unique_ptr<Ranker> fast_ranker(const LinearModel& model) {
  return std::make_unique<FastRanker<LinearEvaluator>>(model, simd_level());
}
std::unique_ptr<Ranker> fast_ranker(const NetworkModel& model) {
  return std::make_unique<FastRanker<NetworkEvaluator>>(model, simd_level());
}

}  // namespace

void Ranker::score(const FeatureColumns& features, std::span<double> scores, RankerStages&) const {
  score(features, scores);
}

std::unique_ptr<Ranker> make_ranker(const RankerModel& model) {
  check_model(model);
  return std::visit([](const auto& function) { return fast_ranker(function); }, model.function);
}

}  // namespace quern
