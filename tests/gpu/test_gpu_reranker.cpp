#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/lab/synth/synth_ranker.hpp"

#include "catch.hpp"
#ifdef QUERN_HAS_CUDA
#include "gpu/lose_gpu.hpp"
#endif
#include "gpu/random_features.hpp"
#include "gpu/skip_without_gpu.hpp"

/// Features and the second stage on a GPU have the CPU's values, scores and order, bit for bit.
namespace quern {
namespace {

using namespace testing;

/// A model over all of Quern's features.
BoundModel bound(RankerModel model) {
  BoundModel made{std::move(model), std::vector<std::uint32_t>(all_features().size())};
  std::iota(made.selection.begin(), made.selection.end(), 0u);
  made.model.features.resize(made.selection.size());
  return made;
}

/// Models of each kind.
std::vector<BoundModel> models_of_each_kind() {
  SynthRankerOptions options;
  options.features = static_cast<std::uint32_t>(all_features().size());
  options.leaves = 16;
  std::vector<BoundModel> models;
  models.push_back(bound(synth_trees(60, options)));
  for (const SynthRankerShape& shape : all_synth_rankers) models.push_back(bound(synth_ranker(shape, options)));
  LinearModel linear;
  for (std::uint32_t i = 0; i < options.features; ++i) linear.terms.push_back({i, 0.01 * (i % 7) - 0.02});
  RankerModel model;
  model.function = linear;
  models.push_back(bound(std::move(model)));
  return models;
}

/// Topics as in a run, with each document once.
std::vector<TopicResults> random_topics(const FeatureSite& site, RandomBits& random, std::size_t count) {
  std::vector<TopicResults> topics;
  for (std::size_t i = 0; i < count; ++i) {
    TopicResults topic{std::to_string(i), "", {}};
    for (std::uint64_t n = random.below(random.below(9) == 0 ? 60 : 5); n > 0; --n)
      topic.text += (random.below(6) == 0 ? "anchoronly" : "w") + std::to_string(random.below(50)) + " ";
    for (docid_t docid = 0; docid < site.index().num_documents(); ++docid)
      if (random.below(3) > 0) topic.documents.push_back({docid, static_cast<float>(random.below(100)) / 4});
    topics.push_back(std::move(topic));
  }
  return topics;
}

void require_same_topics(const std::vector<TopicResults>& found, const std::vector<TopicResults>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("topic " << found[i].qid << ": " << found[i].text);
    REQUIRE(found[i].documents.size() == expected[i].documents.size());
    for (std::size_t d = 0; d < found[i].documents.size(); ++d) {
      const ScoredDocument &a = found[i].documents[d], &b = expected[i].documents[d];
      REQUIRE(a.docid == b.docid);
      REQUIRE(std::bit_cast<std::uint32_t>(a.score) == std::bit_cast<std::uint32_t>(b.score));
    }
  }
}

}  // namespace

TEST_CASE("a GPU computes the features of the CPU, bit for bit", "[gpu][features][sanitize][property]") {
  SKIP_WITHOUT_GPU();
  for (const std::uint64_t seed : {11u, 12u, 13u}) {
    const FeatureSite site(seed, 60, seed == 12, seed == 13 ? 3 : 1);
    RandomBits random(seed);
    gpu::MemoryAccount on_gpu, pinned;
    NoProgress progress;
    const FeatureExtractor all(site.shards(), select_features("all"));
    const gpu::DocumentWords documents(all, 0, on_gpu, pinned, progress);
    for (unsigned i = 0; i < 6; ++i) {
      INFO("seed " << seed << ", batch " << i);
      const std::vector<std::uint32_t> selection = random_selection(random);
      const FeatureExtractor extractor(site.shards(), selection);
      const bool gathers = i % 2 == 0;
      gpu::RerankFlight flight(0, extractor, gathers ? nullptr : &documents, {}, on_gpu, pinned);
      // A flight is reused for smaller and larger batches.
      for (const std::size_t most : {5u, 300u, 40u}) {
        const std::vector<FeatureJob> jobs = random_jobs(site, random, 1 + random.below(6), most);
        flight.batch().clear();
        add_jobs(flight.batch(), extractor, jobs);
        FeatureMatrix matrix;
        REQUIRE(flight.features(matrix));
        require_features(FeatureExtractor(site.whole(), selection), jobs, matrix.columns());
      }
    }
  }
}

TEST_CASE("a GPU reranks as the CPU does, with models of all kinds, over shards as over the whole index",
          "[gpu][second_stage][sanitize][property]") {
  SKIP_WITHOUT_GPU();
  const FeatureSite site(21, 70, false, 3);
  RandomBits random(21);
  NoProgress progress;
  Resources resources;
  resources.threads = 3;
  for (const BoundModel& model : models_of_each_kind()) {
    const Reranker on_cpu(site.whole(), model, "model"), over_shards(site.shards(), model, "model");
    const std::vector<TopicResults> topics = random_topics(site, random, 14);
    std::vector<TopicResults> expected = topics;
    quern::rerank_topics(on_cpu, expected, 20, resources);
    for (const auto& [cpu, resident] : {std::pair(&on_cpu, true), std::pair(&on_cpu, false),
                                        std::pair(&over_shards, true), std::pair(&over_shards, false)}) {
      gpu::GpuRerankOptions options;
      options.fewest_documents = 1;
      options.cpu_goes_on = false;
      options.keeps_documents = resident;
      // Topics are divided among batches.
      options.batch_documents = 100;
      const gpu::GpuReranker reranker(*cpu, options, progress);
      CHECK(reranker.keeps_documents() == resident);
      std::vector<TopicResults> found = topics;
      gpu::rerank_topics(reranker, found, 20, resources);
      require_same_topics(found, expected);
      CHECK(reranker.counts().documents_on_gpu > 0);
      CHECK(reranker.counts().without_room == 0);
      CHECK(reranker.counts().batches >= reranker.counts().documents_on_gpu / 100);
    }
  }
}

TEST_CASE("models of topics share a GPU's memory for models", "[gpu][second_stage]") {
  SKIP_WITHOUT_GPU();
  const FeatureSite site(24, 70);
  RandomBits random(24);
  NoProgress progress;
  Resources resources;
  resources.threads = 1;
  std::vector<Reranker::NamedModel> models;
  for (const BoundModel& model : models_of_each_kind()) models.push_back({model, "model"});
  const Reranker on_cpu(site.whole(), models);
  std::uint64_t largest = 0, sum = 0;
  for (std::uint32_t i = 0; i < on_cpu.num_models(); ++i) {
    const std::uint64_t bytes = gpu::MemoryAccount::rounded(gpu::make_ranker_arrays(on_cpu.model(i)).bytes());
    largest = std::max(largest, bytes);
    sum += bytes;
  }
  std::vector<TopicResults> topics = random_topics(site, random, 14);
  for (std::size_t i = 0; i < topics.size(); ++i) topics[i].model = static_cast<std::uint32_t>(i % models.size());
  std::vector<TopicResults> expected = topics;
  quern::rerank_topics(on_cpu, expected, 20, resources);
  for (const std::uint64_t bytes : {largest, sum}) {
    gpu::GpuRerankOptions options;
    options.fewest_documents = 1;
    options.cpu_goes_on = false;
    options.ranker_bytes = bytes;
    const gpu::GpuReranker reranker(on_cpu, options, progress);
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<TopicResults> found = topics;
      gpu::rerank_topics(reranker, found, 20, resources);
      require_same_topics(found, expected);
    }
    CHECK(reranker.counts().without_room == 0);
    CHECK((reranker.counts().models.loads == models.size()) == (bytes == sum));
    CHECK((reranker.counts().models.evictions == 0) == (bytes == sum));
  }
}

TEST_CASE("the CPU reranks documents that don't fit a GPU, and few documents", "[gpu][second_stage]") {
  SKIP_WITHOUT_GPU();
  const FeatureSite site(22, 80);
  RandomBits random(22);
  NoProgress progress;
  Resources resources;
  const Reranker on_cpu(site.whole(), models_of_each_kind().front(), "model");
  const std::vector<TopicResults> topics = random_topics(site, random, 12);
  std::vector<TopicResults> expected = topics;
  quern::rerank_topics(on_cpu, expected, 10, resources);
  gpu::GpuRerankOptions small_models, small_batches, many_documents;
  small_models.ranker_bytes = 100;
  small_batches.memory_bytes = 600 << 10;
  small_batches.ranker_bytes = 100 << 10;
  many_documents.fewest_documents = 1 << 20;
  small_models.fewest_documents = small_batches.fewest_documents = 1;
  for (const gpu::GpuRerankOptions& options : {small_models, small_batches, many_documents}) {
    const gpu::GpuReranker reranker(on_cpu, options, progress);
    std::vector<TopicResults> found = topics;
    gpu::rerank_topics(reranker, found, 10, resources);
    require_same_topics(found, expected);
    CHECK(reranker.counts().documents_on_gpu == 0);
    CHECK(!reranker.has_failed());
    CHECK((reranker.counts().without_room == 0) == (options.fewest_documents > 1));
  }
}

#ifdef QUERN_HAS_CUDA
TEST_CASE("after the loss of a GPU, the CPU runs the second stage", "[.gpu_lost][gpu_reranker]") {
  SKIP_WITHOUT_GPU();
  const FeatureSite site(24, 80);
  RandomBits random(24);
  NoProgress progress;
  Resources resources;
  resources.threads = 3;
  const Reranker on_cpu(site.whole(), models_of_each_kind().front(), "model");
  const std::vector<TopicResults> topics = random_topics(site, random, 12);
  std::vector<TopicResults> expected = topics, found = topics;
  quern::rerank_topics(on_cpu, expected, 10, resources);
  gpu::GpuRerankOptions options;
  options.fewest_documents = 1;
  std::atomic<unsigned> notices = 0;
  options.notice = [&](const std::string& text) {
    CHECK(text.find("the CPU reranks the remaining results") == 0);
    ++notices;
  };
  const gpu::GpuReranker reranker(on_cpu, options, progress);
  options.cpu_goes_on = false;
  const gpu::GpuReranker alone(on_cpu, options, progress);
  gpu::rerank_topics(reranker, found, 10, resources);
  require_same_topics(found, expected);
  CHECK(reranker.counts().documents_on_cpu == 0);
  lose_gpu();
  for (unsigned i = 0; i < 2; ++i) {
    found = topics;
    gpu::rerank_topics(reranker, found, 10, resources);
    require_same_topics(found, expected);
  }
  CHECK(reranker.has_failed());
  CHECK(notices == 1);
  found = topics;
  CHECK_THROWS_AS(gpu::rerank_topics(alone, found, 10, resources), CudaError);
}
#endif

TEST_CASE("a second stage on a GPU needs one", "[second_stage]") {
  if (!list_gpus().empty()) return;
  const FeatureSite site(23, 5);
  NoProgress progress;
  const Reranker on_cpu(site.whole(), models_of_each_kind().front(), "model");
  CHECK_THROWS_AS(gpu::GpuReranker(on_cpu, {}, progress), CudaError);
}

}  // namespace quern
