#include "quern/gpu/rank/models/gpu_ranker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/core/error.hpp"
#include "quern/gpu/rank/models/ranker_arrays.hpp"
#include "quern/gpu/rank/models/ranker_tuning.hpp"

namespace quern::gpu {
namespace {

/// What a document costs, in nanoseconds.
struct DocumentCost {
  double core = 0, gpu = 0;

  void add_trees(const TreeEnsemble& trees) {
    // On a core the time grows somewhat less than the leaves: large trees are walked in part.
    const auto count = static_cast<double>(trees.trees());
    const double leaves = count == 0 ? 0 : static_cast<double>(trees.leaves.size()) / count;
    core +=
        static_cast<double>(trees.inputs.size()) * core_input_ns + count * core_tree_ns * std::pow(leaves / 64, 0.8);
    gpu += count * gpu_tree_ns * std::max(1.0, std::log2(leaves) / 6);
  }
  void add_inputs(std::size_t inputs) { core += static_cast<double>(inputs) * core_input_ns; }
  void add_weights(std::size_t weights) {
    core += static_cast<double>(weights) * core_weight_ns;
    gpu += static_cast<double>(weights) * gpu_weight_ns;
  }
};

void add_cost(const TreeEnsemble& trees, DocumentCost& cost) { cost.add_trees(trees); }
void add_cost(const LinearModel& model, DocumentCost& cost) { cost.add_weights(model.terms.size()); }
void add_cost(const NetworkModel& model, DocumentCost& cost) {
  cost.add_inputs(model.transformations.size());
  cost.add_trees(model.trees);
  for (const DenseLayer& layer : model.layers) cost.add_weights(layer.weights.size());
}

}  // namespace

std::size_t fewest_gpu_documents(const RankerModel& model) {
  DocumentCost cost;
  std::visit([&](const auto& function) { add_cost(function, cost); }, model.function);
  cost.gpu += static_cast<double>(model.features.size()) * gpu_feature_ns;
  constexpr auto least = static_cast<double>(least_core_documents);
  if (gpu_call_ns + cost.gpu < least * cost.core) return 1;
  if (cost.core <= cost.gpu) return std::numeric_limits<std::size_t>::max();
  const double documents = std::ceil(gpu_call_ns / (cost.core - cost.gpu));
  return documents < 1e15 ? static_cast<std::size_t>(documents) : std::numeric_limits<std::size_t>::max();
}

GpuRanker::GpuRanker(const RankerModel& model, std::unique_ptr<const Ranker> on_cpu, RankerCache& cache,
                     const GpuRankerOptions& options)
    : model_(model),
      on_cpu_(std::move(on_cpu)),
      cache_(cache),
      fewest_documents_(options.fewest_documents.value_or(fewest_gpu_documents(model))),
      on_gpu_(options.working_bytes),
      pinned_(options.pinned_bytes),
      flights_([this] { return std::make_unique<RankerFlight>(cache_.gpu(), on_gpu_, pinned_); }) {}

GpuRanker::Outcome GpuRanker::try_gpu(const FeatureColumns& features, std::span<double> scores) const {
  try {
    const std::shared_ptr<const DeviceRanker> ranker = cache_.find(model_);
    if (ranker == nullptr) return Outcome::no_room;
    flights_.borrow()->score(*ranker, features, scores);
    return Outcome::scored;
  } catch (const GpuOutOfMemory&) {
    return Outcome::no_room;
  } catch (const CudaError&) {
    return Outcome::failed;
  }
}

void GpuRanker::score(const FeatureColumns& features, std::span<double> scores) const {
  if (features.documents >= fewest_documents_ && !failed_) {
    switch (try_gpu(features, scores)) {
      case Outcome::scored:
        documents_on_gpu_ += features.documents;
        return;
      case Outcome::no_room:
        without_room_ += features.documents;
        break;
      case Outcome::failed:
        ++failures_;
        failed_ = true;
        break;
    }
  }
  on_cpu_->score(features, scores);
  documents_on_cpu_ += features.documents;
}

GpuRankerCounts GpuRanker::counts() const { return {documents_on_gpu_, documents_on_cpu_, without_room_, failures_}; }

RankerCache::RankerCache(unsigned gpu, std::uint64_t bytes, DeviceRankerOptions options)
    : gpu_(gpu), options_(options), account_(bytes), places_(bytes) {}

std::shared_ptr<const DeviceRanker> RankerCache::find(const RankerModel& model) {
  const std::lock_guard lock(mutex_);
  return places_.find(&model, [&] {
    const auto arrays = std::make_shared<const RankerArrays>(make_ranker_arrays(model));
    const auto load = [this, arrays]() -> std::shared_ptr<const DeviceRanker> {
      try {
        return std::make_shared<const DeviceRanker>(*arrays, gpu_, account_, options_);
      } catch (const GpuOutOfMemory&) {
        return nullptr;
      }
    };
    return ModelPlaces<DeviceRanker>::Wanted{MemoryAccount::rounded(arrays->bytes()), load};
  });
}

RankerCacheCounts RankerCache::counts() const {
  const std::lock_guard lock(mutex_);
  return places_.counts();
}

}  // namespace quern::gpu
