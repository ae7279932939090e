#include <numeric>

#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/index/forward/recode_forward.hpp"
#include "quern/rank/features/feature_list.hpp"
#include "quern/rank/reranker.hpp"

#include "catch.hpp"
#include "index/forward/indexed_site.hpp"
#include "index/shards/split_corpus.hpp"

/// Forward files of shards merge to that of the whole index, and give its features.
namespace quern {
namespace {

using namespace testing;

ForwardShards shards_of(const SplitCorpus& corpus, const OrderReader& order, std::uint32_t count) {
  ForwardShards shards;
  for (std::uint32_t number = 1; number <= count; ++number) {
    StageFile forward;
    IndexReader index = corpus.shard({number, count}, order, {}, {}, &forward);
    shards.add(std::move(index), forward, corpus.pipeline.resources);
  }
  shards.end();
  return shards;
}

Bytes merged_forward(const ForwardShards& shards, const Pipeline& pipeline) {
  const StageFile index_file = pipeline.new_file(), file = pipeline.new_file();
  merge_indexes(*shards.indexes, pipeline.resources, *index_file);
  const IndexReader index = Pipeline::open_index(index_file);
  ForwardRecoder recoder(index, pipeline.resources, *file);
  for (std::size_t i = 0; i < shards.forwards.size(); ++i)
    recoder.add((*shards.indexes)[i], shards.forwards[i], {0, (*shards.indexes)[i].num_documents()});
  recoder.finish();
  return bytes_of(*file);
}

/// A model over all of Quern's features, with distinct weights.
BoundModel model_of_all_features() {
  BoundModel model;
  model.selection.resize(all_features().size());
  std::iota(model.selection.begin(), model.selection.end(), 0u);
  LinearModel linear;
  for (std::uint32_t i = 0; i < model.selection.size(); ++i) linear.terms.push_back({i, 0.37 * (i % 11) - 1.3});
  model.model.features.resize(model.selection.size());
  model.model.function = linear;
  return model;
}

void check_reranking(const ForwardShards& shards, const IndexReader& whole, const ForwardReader& forward,
                     std::uint64_t seed) {
  const BoundModel model = model_of_all_features();
  const Reranker expected({{whole, forward}}, model, "model");
  const Reranker found(feature_shards(*shards.indexes, shards.forwards), model, "model");
  Reranker::Space space(expected), sharded_space(found);
  RandomBits random(seed);
  for (int i = 0; i < 12; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(7); n > 0; --n)
      text += (random.below(5) == 0 ? "anchoronly" : "w") + std::to_string(random.below(40)) + " ";
    std::vector<ScoredDocument> whole_results;
    for (docid_t docid = 0; docid < whole.num_documents(); ++docid)
      if (random.below(3) > 0) whole_results.push_back({docid, static_cast<float>(random.below(100)) / 4});
    std::vector<ScoredDocument> shard_results = whole_results;
    expected.rerank(text, whole_results, 20, space);
    found.rerank(text, shard_results, 20, sharded_space);
    INFO(text);
    CHECK(shard_results == whole_results);
  }
}

}  // namespace

TEST_CASE("forward files of shards merge to that of the whole index", "[shards][forward][property]") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const std::vector<ModelPage> pages = random_site(seed, seed == 1 ? 6 : 70);
    const ChunkLimits limits = seed % 2 == 0 ? ChunkLimits{.terms = 50, .bytes = 600} : ChunkLimits{};
    SplitCorpus corpus(as_trecweb(pages), SplitCorpus::texts_of(pages, 1 + seed % 4, as_trecweb), limits);
    for (const OrderBy by : {OrderBy::natural, OrderBy::random}) {
      const DocumentOrder order = corpus.pipeline.order(corpus.joined, by, seed);
      const IndexedSite site = index_site(corpus.pipeline, corpus.joined, order);
      const IndexReader whole = Pipeline::open_index(site.index);
      const ForwardReader forward = open_forward(site.forward);
      for (const std::uint32_t count : {1u, 2u, 5u}) {
        INFO("seed " << seed << ", " << count << " shards");
        const ForwardShards shards = shards_of(corpus, corpus.order_file(order, {}, count), count);
        CHECK((merged_forward(shards, corpus.pipeline) == bytes_of(*site.forward)));
        check_reranking(shards, whole, forward, seed);
        const ForwardShards cut = cut_shards(corpus.pipeline, whole, forward, count);
        CHECK((merged_forward(cut, corpus.pipeline) == bytes_of(*site.forward)));
        check_reranking(cut, whole, forward, seed);
      }
    }
  }
}

TEST_CASE("segments of shards end where those of the whole index do, whichever terms have lists", "[shards][forward]") {
  // Link texts of many long terms fill segments by their literals. Some terms have a list, but not in the shard of the
  // linked page.
  std::vector<ModelPage> pages(3);
  const std::string filler(200, 'q');
  for (std::size_t i = 0; i < pages.size(); ++i) {
    pages[i].docno = std::to_string(i);
    pages[i].url = "http://site.example/" + std::to_string(i);
  }
  for (int i = 0; i < 12000; ++i) {
    const std::string term = "t" + std::to_string(i) + filler;
    pages[1].links.emplace_back(pages[0].url, term);
    if (i % 3 == 0) pages[2].paragraphs.push_back(term);
  }
  SplitCorpus corpus(as_trecweb(pages), SplitCorpus::texts_of(pages, 3, as_trecweb));
  const DocumentOrder order = corpus.pipeline.order(corpus.joined);
  const IndexedSite site = index_site(corpus.pipeline, corpus.joined, order);
  std::size_t segments = 0;
  open_forward(site.forward).for_each_segment(0, [&](const ForwardSegment&) { ++segments; });
  CHECK(segments == 2);
  const StageFile order_file = corpus.pipeline.new_file();
  write_order(*order_file, order, {}, corpus.joined, {0, 1, 2});
  const OrderReader reader(ContainerReader(order_file, FileKind::order));
  const ForwardShards shards = shards_of(corpus, reader, 3);
  CHECK((merged_forward(shards, corpus.pipeline) == bytes_of(*site.forward)));
  CHECK_THROWS_WITH(FeatureExtractor({{(*shards.indexes)[0], shards.forwards[0]}}, select_features("all")),
                    Catch::Contains("shard 1 of 3 alone"));
}

}  // namespace quern
