#include "quern/core/error.hpp"
#include "quern/lab/rerank_bench.hpp"
#include "quern/lab/synth/synth_ranker.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("reranking is measured by model, documents and threads", "[measure][ranker]") {
  SynthRankerOptions synth;
  synth.features = 10;
  synth.leaves = 8;
  const RankerModel trees = synth_trees(20, synth), network = synth_ranker(all_synth_rankers[0], synth);
  const std::vector<RerankSubject> subjects = {{"trees", &trees}, {"network", &network}};
  const SynthFeatures features(10, 300, 1);
  RerankBenchOptions options;
  options.documents = {1, 300};
  options.repeats = 2;
  options.threads = 2;
  NoProgress progress;
  const auto figures = measure_reranking(subjects, features.columns(), options, progress);
  REQUIRE(figures.size() == 8);
  std::size_t i = 0;
  for (const char* ranker : {"trees", "network"})
    for (const std::size_t documents : {1u, 300u})
      for (const unsigned threads : {1u, 2u}) {
        const RerankFigures& row = figures[i++];
        CHECK(row.ranker == ranker);
        CHECK(row.device == "cpu");
        CHECK(row.documents == documents);
        CHECK(row.threads == threads);
        CHECK(row.queries == (documents == 1 ? 200 : 13));
        CHECK(row.seconds > 0);
        CHECK(row.documents_per_second() * row.ns_per_document() == Approx(1e9));
        const double stages = row.stages.inputs + row.stages.trees + row.stages.layers;
        CHECK((threads == 1 ? stages > 0 : stages == 0));
        CHECK((row.ranker == "trees" ? row.stages.layers == 0 : row.threads > 1 || row.stages.layers > 0));
      }
  options.threads = 1;
  CHECK(measure_reranking(subjects, features.columns(), options, progress).size() == 4);
  options.documents = {301};
  CHECK_THROWS_AS(measure_reranking(subjects, features.columns(), options, progress), InvalidArgument);
  options.documents = {0};
  CHECK_THROWS_AS(measure_reranking(subjects, features.columns(), options, progress), InvalidArgument);
  options.documents = {5};
  CHECK_THROWS_AS(measure_reranking({}, features.columns(), options, progress), InvalidArgument);
  options.repeats = 0;
  CHECK_THROWS_AS(measure_reranking(subjects, features.columns(), options, progress), InvalidArgument);
}

}  // namespace quern
