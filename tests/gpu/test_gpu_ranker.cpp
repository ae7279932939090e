#include <tbb/parallel_for.h>

#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include "quern/core/scratch_memory.hpp"
#include "quern/gpu/rank/models/ranker_cache.hpp"
#include "quern/gpu/rank/models/ranker_view.hpp"

#include "catch.hpp"
#include "gpu/ranker_cases.hpp"
#include "gpu/skip_without_gpu.hpp"

/// Scores of models on a GPU have the bits of plain evaluation.
namespace quern {
namespace {

using namespace test;

std::vector<std::uint64_t> flight_bits(gpu::RankerFlight& flight, const gpu::DeviceRanker& ranker,
                                       const FeatureColumns& features) {
  std::vector<double> scores(features.documents, -77);
  flight.score(ranker, features, scores);
  return score_bits(scores);
}

/// Compares the first `count` documents for each count.
void check_on_gpu(gpu::RankerFlight& flight, const RankerCase& one, const RandomDocuments& documents,
                  std::span<const std::size_t> counts) {
  gpu::MemoryAccount account;
  const gpu::DeviceRanker ranker(gpu::make_ranker_arrays(one.model), 0, account);
  CHECK(ranker.bytes() == account.taken());
  CHECK(ranker.bytes() == gpu::MemoryAccount::rounded(gpu::make_ranker_arrays(one.model).bytes()));
  const std::vector<std::uint64_t> expected = plain_bits(one.model, documents.columns);
  for (const std::size_t count : counts) {
    INFO(one.name << ", " << count << " documents");
    const std::vector<std::uint64_t> found =
        flight_bits(flight, ranker, {documents.columns.values, count, documents.columns.stride});
    REQUIRE(found ==
            std::vector<std::uint64_t>(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count)));
  }
}

std::uint32_t features_of(const RankerCase& one) { return static_cast<std::uint32_t>(one.model.features.size()); }

}  // namespace

TEST_CASE("a GPU gives the scores of plain evaluation, bit for bit", "[gpu][gpu_ranker][sanitize]") {
  SKIP_WITHOUT_GPU();
  ModelRandom random(44);
  gpu::MemoryAccount on_gpu, pinned;
  gpu::RankerFlight flight(0, on_gpu, pinned);
  for (const RankerCase& one : small_ranker_cases(random)) {
    const RandomDocuments documents(random, features_of(one), 300, one.distinct);
    check_on_gpu(flight, one, documents, std::vector<std::size_t>{300, 1, 33, 1 + random() % 300, 0});
  }
}

TEST_CASE("a GPU gives the scores of many documents and large models", "[gpu][gpu_ranker]") {
  SKIP_WITHOUT_GPU();
  ModelRandom random(45);
  gpu::MemoryAccount on_gpu, pinned;
  gpu::RankerFlight flight(0, on_gpu, pinned);
  EnsembleShape shape;
  shape.features = 136;
  shape.trees = 1000;
  std::vector<RankerCase> cases;
  cases.push_back(tree_case(random, "1,000 trees", shape));
  cases.push_back(network_case(random, "1,000 trees in a network", shape, 20, {64, 1}));
  cases.push_back(network_case(random, "layers of many neurons", shape, 100, {300, 129, 16, 1}));
  shape.trees = 100;
  shape.max_leaves = 512;
  cases.push_back(tree_case(random, "trees of up to 512 leaves", shape));
  const RandomDocuments documents(random, 136, 9000);
  for (const RankerCase& one : cases)
    check_on_gpu(flight, one, documents, std::vector<std::size_t>{1, 500, 512, 513, 1000, 4097, 9000});
}

TEST_CASE("several threads score with several models that don't fit together", "[gpu][gpu_ranker]") {
  SKIP_WITHOUT_GPU();
  ModelRandom random(47);
  EnsembleShape shape;
  shape.trees = 300;
  std::vector<RankerCase> cases;
  std::vector<std::vector<std::uint64_t>> expected;
  const RandomDocuments documents(random, shape.features, 700);
  for (unsigned i = 0; i < 4; ++i) {
    cases.push_back(i % 2 == 0 ? tree_case(random, "trees", shape) : network_case(random, "net", shape, 6, {40, 1}));
    expected.push_back(plain_bits(cases.back().model, documents.columns));
  }
  std::uint64_t most = 0;
  for (const RankerCase& one : cases)
    most = std::max(most, gpu::MemoryAccount::rounded(gpu::make_ranker_arrays(one.model).bytes()));
  gpu::RankerCache cache(0, 2 * most);
  gpu::MemoryAccount on_gpu, pinned;
  SparePool<gpu::RankerFlight> flights([&] { return std::make_unique<gpu::RankerFlight>(0, on_gpu, pinned); });
  std::atomic<unsigned> wrong = 0, scored = 0;
  tbb::parallel_for(0u, 200u, [&](unsigned i) {
    const std::shared_ptr<const gpu::DeviceRanker> ranker = cache.find(cases[i * 7 % 4].model);
    if (!ranker) return;
    ++scored;
    wrong += flight_bits(*flights.borrow(), *ranker, documents.columns) != expected[i * 7 % 4];
  });
  CHECK(wrong == 0);
  CHECK(scored > 0);
  // With many threads, two models may be in use all the time; afterwards there is room for each.
  for (const RankerCase& one : cases) CHECK(cache.find(one.model));
}

TEST_CASE("tensor cores give nearly the same scores", "[gpu][gpu_ranker]") {
  SKIP_WITHOUT_GPU();
  ModelRandom random(48);
  EnsembleShape shape;
  shape.trees = 40;
  shape.special_values = false;
  RankerCase one = network_case(random, "network", shape, 0, {100, 48, 1});
  for (DenseLayer& layer : std::get<NetworkModel>(one.model.function).layers) layer.activation = Activation::none;
  constexpr std::size_t count = 8000;  // enough for all multiprocessors
  const RandomDocuments documents(random, shape.features, count);
  gpu::MemoryAccount on_gpu, pinned;
  gpu::RankerFlight flight(0, on_gpu, pinned);
  const gpu::DeviceRanker ranker(gpu::make_ranker_arrays(one.model), 0, on_gpu, true);
  std::vector<double> expected(count), found(count);
  make_ranker(one.model)->score(documents.columns, expected);
  flight.score(ranker, documents.columns, found);
  double difference = 0, size = 0;
  for (std::size_t d = 0; d < count; ++d) {
    difference = std::max(difference, std::abs(found[d] - expected[d]));
    size = std::max(size, std::abs(expected[d]));
  }
  CHECK(difference < 0.01 * size);
  CHECK(difference > 0);  // or no tensor core had any work
}

TEST_CASE("the larger a model, the fewer documents make a GPU call worthwhile", "[gpu_ranker]") {
  ModelRandom random(49);
  EnsembleShape shape;
  shape.max_leaves = shape.min_leaves = 64;
  std::size_t before = std::numeric_limits<std::size_t>::max();
  for (const std::uint32_t trees : {1u, 10u, 100u, 1000u}) {
    shape.trees = trees;
    const std::size_t fewest = gpu::fewest_gpu_documents(tree_case(random, "trees", shape).model);
    INFO(trees << " trees: " << fewest);
    CHECK(fewest < before);
    before = fewest;
  }
  CHECK(before < 50);
  RankerModel empty;
  empty.function = LinearModel{};
  CHECK(gpu::fewest_gpu_documents(empty) == std::numeric_limits<std::size_t>::max());
}

}  // namespace quern
