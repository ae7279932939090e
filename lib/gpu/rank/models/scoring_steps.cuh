#pragma once
#include "quern/gpu/rank/models/layer_kernels.cuh"
#include "quern/gpu/rank/models/ranker_view.hpp"
#include "quern/gpu/rank/models/tree_kernels.cuh"
#ifdef __CUDACC__
#include "quern/gpu/rank/models/fast_layer.cuh"
#endif

/// The kernels that score documents, in order, for a GPU and for an emulated one.
namespace quern::gpu {

enum class ScoringStage : std::uint8_t { inputs, trees, layers };

/// A model in memory that kernels can read.
struct LoadedRanker {
  RankerView view;
  std::span<const LayerPlace> layers;
  bool fast_math = false;
};

/// Rows of a batch's working memory, in bytes per document.
struct ScoringRows {
  explicit ScoringRows(const LoadedRanker& ranker)
      : inputs(ranker.view.rows * sizeof(float)),
        leaves(ranker.view.kind == RankerKind::trees ? std::size_t{ranker.view.trees} * sizeof(double) : 0),
        ranks(ranker.view.num_words * sizeof(std::uint32_t)) {
    for (const LayerPlace& layer : ranker.layers) neurons = std::max(neurons, layer.outputs * sizeof(float));
  }

  std::size_t inputs, leaves, ranks, neurons = 0;  ///< neurons of a layer, of which there are two arrays

  std::size_t bytes() const { return inputs + leaves + ranks + 2 * neurons; }
  /// Documents of a batch: whole tiles of `all`, within `max_bytes` unless one tile needs more.
  std::size_t documents(std::size_t all, std::uint64_t max_bytes) const {
    const std::size_t tiles = (all + tile_documents - 1) / tile_documents;
    const std::size_t fitting = max_bytes / (tile_documents * std::max<std::size_t>(bytes(), 1));
    return tile_documents * std::clamp<std::size_t>(fitting, 1, std::max<std::size_t>(tiles, 1));
  }
};

/// Scores the documents of one batch. `Launcher` has launch(kernel, thread blocks, bytes of shared memory), which
/// starts a kernel after the previous ones; multiprocessors(); and begin() and end() of a stage.
template <class Launcher>
class BatchScoring {
 public:
  /// `memory`: for rows of `documents` documents, the batch's capacity.
  BatchScoring(const LoadedRanker& ranker, std::uint8_t* memory, std::size_t documents, Launcher& launcher)
      : ranker_(ranker), launcher_(launcher) {
    const ScoringRows rows(ranker);
    batch_.stride = documents;
    const auto take = [&](std::size_t bytes_per_document) {
      std::uint8_t* const from = memory;
      memory += bytes_per_document * documents;
      return from;
    };
    batch_.leaves = reinterpret_cast<double*>(take(rows.leaves));
    batch_.inputs = reinterpret_cast<float*>(take(rows.inputs));
    batch_.ranks = reinterpret_cast<std::uint32_t*>(take(rows.ranks));
    for (float*& neurons : neurons_) neurons = reinterpret_cast<float*>(take(rows.neurons));
  }

  /// Enqueues the kernels for at most the batch's number of documents.
  void score(const FeatureColumns& features, double* scores) {
    batch_.features = features;
    batch_.scores = scores;
    if (features.documents == 0) return;
    if (ranker_.view.kind == RankerKind::linear)
      return in_stage(ScoringStage::layers, [&] {
        launch(SumTerms{ranker_.view, batch_}, (features.documents + term_threads - 1) / term_threads);
      });
    if (ranker_.view.num_steps + ranker_.view.num_words > 0)
      in_stage(ScoringStage::inputs, [&] {
        const MakeInputs kernel{ranker_.view, batch_};
        launch_tasks(kernel, kernel.tasks());
      });
    if (ranker_.view.kind == RankerKind::trees) {
      in_stage(ScoringStage::trees, [&] {
        walk_trees<double>();
        launch(SumLeaves{ranker_.view, batch_}, batch_.tiles());
      });
    } else {
      if (ranker_.view.trees > 0) in_stage(ScoringStage::trees, [&] { walk_trees<float>(); });
      in_stage(ScoringStage::layers, [&] { launch_layers(); });
    }
  }

 private:
  template <class Work>
  void in_stage(ScoringStage stage, const Work& work) {
    launcher_.begin(stage);
    work();
    launcher_.end(stage);
  }

  template <class Kernel>
  void launch(const Kernel& kernel, std::size_t blocks, std::size_t shared_bytes = 0) {
    launcher_.launch(kernel, static_cast<unsigned>(blocks), shared_bytes);
  }

  /// Launches a kernel whose warps loop over tasks.
  template <class Kernel>
  void launch_tasks(const Kernel& kernel, std::uint64_t tasks) {
    constexpr std::uint64_t warps = Kernel::threads / tile_documents;
    const std::uint64_t max_blocks = std::uint64_t{launcher_.multiprocessors()} * blocks_per_multiprocessor;
    launch(kernel, std::min((tasks + warps - 1) / warps, max_blocks));
  }

  template <class Leaf>
  void walk_trees() {
    if (ranker_.view.num_groups > 0) {
      const std::size_t rank_bytes = tile_documents * sizeof(std::uint32_t) * ranker_.view.num_words;
      if (rank_bytes <= shared_rank_bytes)
        walk_groups<Leaf, true>(rank_bytes);
      else
        walk_groups<Leaf, false>(0);
    }
    if (ranker_.view.num_large > 0) {
      const WalkLargeTrees<Leaf> kernel{ranker_.view, batch_};
      launch_tasks(kernel, kernel.tasks());
    }
  }

  /// A thread block loads a group once for all of its tiles; there are enough thread blocks to keep the GPU busy.
  template <class Leaf, bool ranks_shared>
  void walk_groups(std::size_t rank_bytes) {
    const std::size_t groups = ranker_.view.num_groups, tiles = batch_.tiles();
    const std::size_t fitting = rank_bytes == 0 ? max_tiles_at_once : shared_rank_bytes / rank_bytes;
    const std::size_t at_once = std::min({fitting, max_tiles_at_once, tiles});
    const std::size_t wanted = std::size_t{launcher_.multiprocessors()} * blocks_per_multiprocessor;
    const std::size_t blocks_per_group = std::clamp<std::size_t>(wanted / groups, 1, (tiles + at_once - 1) / at_once);
    const WalkGroups<Leaf, ranks_shared> kernel{ranker_.view, batch_, static_cast<std::uint32_t>(at_once)};
    launch(kernel, groups * blocks_per_group, group_bytes + at_once * rank_bytes);
  }

  void launch_layers() {
    const float* in = batch_.inputs;
    for (std::size_t i = 0; i < ranker_.layers.size(); ++i) {
      LayerView layer;
      layer.size = ranker_.layers[i];
      layer.weights = ranker_.view.weights + layer.size.weights;
      layer.bias = ranker_.view.bias + layer.size.bias;
      layer.in = in;
      layer.out = neurons_[i % 2];
      layer.stride = batch_.stride;
      layer.documents = batch_.features.documents;
      if (i + 1 == ranker_.layers.size()) layer.scores = batch_.scores;
      launch_layer(layer);
      in = layer.out;
    }
  }

  void launch_layer(const LayerView& layer) {
    const auto blocks = [&](std::size_t outputs) {
      return batch_.tiles() * ((layer.size.outputs + outputs - 1) / outputs);
    };
    if (layer.size.outputs == 0) return;
    // Too few wide thread blocks would leave the GPU idle, with tensor cores or without.
    const bool is_filled = blocks(wide_outputs) >= launcher_.multiprocessors() / 2;
#ifdef __CUDACC__
    if (ranker_.fast_math && is_filled && layer.size.outputs >= least_fast_outputs)
      return launch(FastLayer{layer}, blocks(wide_outputs));
#endif
    if (is_filled && layer.size.outputs >= least_wide_outputs)
      launch(WideLayer{layer}, blocks(wide_outputs));
    else
      launch(NarrowLayer{layer}, blocks(narrow_outputs));
  }

  const LoadedRanker& ranker_;
  Launcher& launcher_;
  ScoringView batch_;
  float* neurons_[2] = {nullptr, nullptr};
};

/// Scores all documents of `features`, in batches of at most `max_bytes` of working memory. Calls `memory` once with
/// the number of bytes, which it must align to 256.
template <class Launcher, class Memory>
void score_documents(const LoadedRanker& ranker, const FeatureColumns& features, double* scores, const Memory& memory,
                     Launcher& launcher, std::uint64_t max_bytes = scoring_bytes) {
  if (features.documents == 0) return;
  const ScoringRows rows(ranker);
  const std::size_t step = rows.documents(features.documents, max_bytes);
  BatchScoring<Launcher> batch(ranker, memory(rows.bytes() * step), step, launcher);
  for (std::size_t first = 0; first < features.documents; first += step)
    batch.score({features.values + first, std::min(step, features.documents - first), features.stride}, scores + first);
}

}  // namespace quern::gpu
