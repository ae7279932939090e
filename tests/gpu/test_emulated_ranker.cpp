#include "gpu/emulated_gpu.hpp"
//
#include <cstdint>
#include <cstring>
#include <vector>

#include "quern/gpu/rank/models/scoring_steps.cuh"

#include "catch.hpp"
#include "gpu/ranker_cases.hpp"

/// The kernels that score documents, run by an emulated GPU.
namespace quern {
namespace {

using namespace test;
namespace emulated = testing::emulated;

/// Launches kernels sequentially.
class EmulatedLauncher {
 public:
  explicit EmulatedLauncher(unsigned multiprocessors) : multiprocessors_(multiprocessors) {}

  unsigned multiprocessors() const { return multiprocessors_; }
  void begin(gpu::ScoringStage) {}
  void end(gpu::ScoringStage) { ++stages_; }

  template <class Kernel>
  void launch(const Kernel& kernel, unsigned blocks, std::size_t shared_bytes) {
    REQUIRE(blocks > 0);
    REQUIRE(shared_bytes <= (std::size_t{48} << 10));
    std::vector<uint4> shared(shared_bytes / sizeof(uint4) + 1);
    std::memset(static_cast<void*>(shared.data()), 0xa5, shared.size() * sizeof(uint4));
    auto* const words = reinterpret_cast<std::uint32_t*>(shared.data());
    emulated::run(blocks, Kernel::threads, [&] { kernel(words); });
  }

 private:
  unsigned multiprocessors_, stages_ = 0;
};

/// A model in host memory.
struct HostRanker {
  explicit HostRanker(const RankerModel& model) : arrays(gpu::make_ranker_arrays(model)) {
    loaded.view = arrays.view;
    gpu::visit_arrays(arrays, loaded.view, [](const auto& array, auto& pointer) { pointer = array.data(); });
    loaded.layers = arrays.layers;
  }

  gpu::RankerArrays arrays;
  gpu::LoadedRanker loaded;
};

std::vector<std::uint64_t> emulated_bits(const HostRanker& ranker, const FeatureColumns& features,
                                         unsigned multiprocessors, std::uint64_t max_bytes) {
  std::vector<double> scores(features.documents, -77);
  std::vector<uint4> memory;
  const auto get = [&](std::size_t bytes) {
    memory.resize(bytes / sizeof(uint4) + 1);
    std::memset(static_cast<void*>(memory.data()), 0xff, memory.size() * sizeof(uint4));
    return reinterpret_cast<std::uint8_t*>(memory.data());
  };
  EmulatedLauncher launcher(multiprocessors);
  gpu::score_documents(ranker.loaded, features, scores.data(), get, launcher, max_bytes);
  return score_bits(scores);
}

}  // namespace

TEST_CASE("emulated kernels give the scores of plain evaluation, bit for bit", "[gpu_emulated][gpu_ranker][property]") {
  ModelRandom random(41);
  for (const RankerCase& one : small_ranker_cases(random)) {
    const HostRanker ranker(one.model);
    const auto features = static_cast<std::uint32_t>(one.model.features.size());
    const RandomDocuments documents(random, features, 1 + random() % 150, one.distinct);
    const emulated::RandomOrder order(1 + random() % 1000);
    INFO(one.name << ", " << documents.columns.documents << " documents");
    const std::vector<std::uint64_t> expected = plain_bits(one.model, documents.columns);
    REQUIRE(emulated_bits(ranker, documents.columns, 1 + random() % 4, gpu::scoring_bytes) == expected);
  }
}

TEST_CASE("emulated kernels give the same scores of any number of documents, in batches of any size",
          "[gpu_emulated][gpu_ranker]") {
  ModelRandom random(42);
  EnsembleShape shape;
  shape.trees = 70;
  const RankerCase cases[] = {tree_case(random, "trees", shape), network_case(random, "network", shape, 5, {40, 1}),
                              linear_case(random, 20)};
  const RandomDocuments documents(random, 9, 300);
  for (const RankerCase& one : cases) {
    const HostRanker ranker(one.model);
    for (const std::size_t count : {0u, 1u, 31u, 32u, 33u, 64u, 127u, 129u, 300u}) {
      const FeatureColumns some = {documents.columns.values, count, documents.columns.stride};
      const std::vector<std::uint64_t> expected = plain_bits(one.model, some);
      for (const std::uint64_t max_bytes : {std::uint64_t{1}, std::uint64_t{100000}, gpu::scoring_bytes}) {
        INFO(one.name << ", " << count << " documents, " << max_bytes << " bytes");
        REQUIRE(emulated_bits(ranker, some, 1 + random() % 200, max_bytes) == expected);
      }
    }
  }
}

TEST_CASE("groups of trees fit shared memory and contain each tree once", "[gpu_ranker][property]") {
  ModelRandom random(43);
  for (const RankerCase& one : small_ranker_cases(random)) {
    INFO(one.name);
    const gpu::RankerArrays arrays = gpu::make_ranker_arrays(one.model);
    std::vector<unsigned> seen(arrays.view.trees);
    for (const gpu::TreeGroup& group : arrays.groups) {
      REQUIRE(group.words * sizeof(std::uint32_t) <= gpu::group_bytes);
      REQUIRE(group.first_word + group.words <= arrays.group_words.size());
      for (std::uint32_t i = 0; i < group.trees; ++i) ++seen.at(arrays.group_words[group.first_word + 2 * i]);
    }
    for (const gpu::LargeTree& tree : arrays.large_trees) ++seen.at(tree.tree);
    REQUIRE(seen == std::vector<unsigned>(arrays.view.trees, 1));
    REQUIRE(arrays.bytes() >= arrays.group_words.size() * sizeof(std::uint32_t));
  }
}

}  // namespace quern
