#include "quern/gpu/rank/models/ranker_cache.hpp"

#include <cmath>

#include "quern/gpu/rank/models/ranker_tuning.hpp"
#include "quern/gpu/rank/models/ranker_view.hpp"

namespace quern::gpu {
namespace {

/// The cost of a document, in nanoseconds.
struct DocumentCost {
  double core = 0, gpu = 0;

  void add(const TreeEnsemble& trees) {
    // On a core, time grows more slowly than leaves, since only parts of large trees are walked.
    const auto count = static_cast<double>(trees.trees());
    const double leaves = count == 0 ? 0 : static_cast<double>(trees.leaves.size()) / count;
    core +=
        static_cast<double>(trees.inputs.size()) * core_input_ns + count * core_tree_ns * std::pow(leaves / 64, 0.8);
    gpu += count * gpu_tree_ns * std::max(1.0, std::log2(leaves) / 6);
  }
  void add(const LinearModel& model) { add_weights(model.terms.size()); }
  void add(const NetworkModel& model) {
    core += static_cast<double>(model.transformations.size()) * core_input_ns;
    add(model.trees);
    for (const DenseLayer& layer : model.layers) add_weights(layer.weights.size());
  }
  void add_weights(std::size_t weights) {
    core += static_cast<double>(weights) * core_weight_ns;
    gpu += static_cast<double>(weights) * gpu_weight_ns;
  }
};

}  // namespace

std::size_t fewest_gpu_documents(const RankerModel& model) {
  DocumentCost cost;
  std::visit([&](const auto& function) { cost.add(function); }, model.function);
  cost.gpu += static_cast<double>(model.features.size()) * gpu_feature_ns;
  constexpr auto least = static_cast<double>(least_core_documents);
  if (gpu_call_ns + cost.gpu < least * cost.core) return 1;
  if (cost.core <= cost.gpu) return std::numeric_limits<std::size_t>::max();
  const double documents = std::ceil(gpu_call_ns / (cost.core - cost.gpu));
  return documents < 1e15 ? static_cast<std::size_t>(documents) : std::numeric_limits<std::size_t>::max();
}

std::shared_ptr<const DeviceRanker> RankerCache::find(const RankerModel& model) {
  const std::lock_guard lock(mutex_);
  return places_.find(&model, [&] {
    const auto arrays = std::make_shared<const RankerArrays>(make_ranker_arrays(model));
    const auto load = [this, arrays]() -> std::shared_ptr<const DeviceRanker> {
      try {
        return std::make_shared<const DeviceRanker>(*arrays, gpu_, account_, fast_math_);
      } catch (const GpuOutOfMemory&) {
        return nullptr;
      }
    };
    return ModelPlaces<DeviceRanker>::Wanted{MemoryAccount::rounded(arrays->bytes()), load};
  });
}

}  // namespace quern::gpu
