#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>

#include "quern/core/error.hpp"
#include "quern/lab/measuring.hpp"
#include "quern/lab/query_bench.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/random_corpus.hpp"
#include "index/shards/split_corpus.hpp"

namespace quern {
namespace {

using Answer = std::vector<ScoredDocument>;

using testing::Pipeline;

/// An engine for each shard of an index.
struct Engines {
  Engines(const IndexShards& shards, const ScoringOptions& options) : index(shards) {
    std::vector<const QueryEngine*> pointers;
    for (const IndexReader& shard : shards) pointers.push_back(&engines.emplace_back(shard, options));
    backend = std::make_unique<CpuBackend>(pointers);
  }

  QuerySetUp set_up(const QueryAlgorithm& algorithm, std::size_t k = 10, std::size_t family = 0) {
    return {&index, backend.get(), &algorithm, k, family};
  }

  const IndexShards& index;
  std::deque<QueryEngine> engines;
  std::unique_ptr<CpuBackend> backend;
};

IndexShards as_shards(IndexReader index) {
  std::vector<IndexReader> shards;
  shards.push_back(std::move(index));
  return IndexShards(std::move(shards));
}

/// A small index with an engine over it.
struct SmallEngine {
  Pipeline pipeline;
  IndexShards shards = as_shards(open(pipeline));
  const IndexReader& index = shards[0];
  Engines engines{shards, {index.manifest().bm25, Idf::lucene}};

  static IndexReader open(Pipeline& pipeline) {
    const auto file = pipeline.parse(testing::as_jsonl(testing::random_corpus(1, {})));
    const CollectionReader collection(file);
    return Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), {}));
  }
};

/// The exhaustive union, but with a wrong last document for longer queries.
void run_wrongly(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  algorithm_named("or").run(context, lists, top);
  if (lists.size() < 3) return;
  const Answer right = top.take();
  for (std::size_t i = 0; i + 1 < right.size(); ++i) top.add(right[i].docid, right[i].score);
  top.add(right.back().docid + 1, right.back().score);
}
const QueryAlgorithm wrong_algorithm = {"wrong", "", Matching::any, run_wrongly};

const std::vector<std::string_view> texts = {"everywhere", "often everywhere often", "unknown", "", "often unknown"};

std::vector<QuerySetUp> all_set_ups(Engines& engines) {
  std::vector<QuerySetUp> set_ups;
  for (const std::size_t k : {1u, 10u, 1000u})
    for (const QueryAlgorithm& algorithm : all_algorithms()) set_ups.push_back(engines.set_up(algorithm, k));
  return set_ups;
}

/// Counts reported progress.
class CountingProgress : public NoProgress {
 public:
  void start(const std::string&, std::uint64_t total, const std::string&) override { total_ = total, done_ = 0; }
  void add(std::uint64_t units) override { done_ += units; }
  void finish() override { CHECK(done_ <= total_); }
  bool complete() const { return total_ != 0 && done_ == total_; }

 private:
  std::uint64_t total_ = 0, done_ = 0;
};

}  // namespace

TEST_CASE("answers differ by a document, by the last bit of a score, or by their number", "[measure]") {
  const Answer answer = {{7, 2.5f}, {3, 1.25f}};
  CHECK_FALSE(difference(answer, answer));
  CHECK_FALSE(difference({}, {}));
  CHECK(difference(answer, Answer{{7, 2.5f}, {4, 1.25f}})->find("rank 2") != std::string::npos);
  CHECK(difference(answer, Answer{{7, std::nextafter(2.5f, 3.0f)}, {3, 1.25f}})->find("rank 1") != std::string::npos);
  CHECK(difference(answer, Answer{{7, 2.5f}})->find("1 results, not 2") != std::string::npos);
  CHECK(difference({}, answer)->find("2 results, not 0") != std::string::npos);
}

TEST_CASE("all algorithms are measured, by k and by length of queries", "[measure]") {
  SmallEngine small;
  const auto set_ups = all_set_ups(small.engines);
  CountingProgress progress;
  const auto measured = measure_queries(texts, set_ups, {3, 1, 2}, progress);
  CHECK(progress.complete());
  REQUIRE(measured.size() == set_ups.size());
  const std::uint64_t everywhere = small.index.find("everywhere")->df, often = small.index.find("often")->df;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const QueryFigures& figures = measured[i];
    INFO(figures.set_up.algorithm->name << ", k = " << figures.set_up.k);
    CHECK(figures.set_up.algorithm == set_ups[i].algorithm);
    CHECK(figures.set_up.k == set_ups[i].k);
    CHECK(figures.queries == texts.size());
    // Each distinct term counts once, whether the algorithm reads it or not.
    CHECK(figures.postings == 2 * everywhere + 2 * often);
    CHECK(figures.blocks == 2 * ((everywhere + 127) / 128 + (often + 127) / 128));
    CHECK(figures.counts.postings_scored > 0);
    if (figures.set_up.algorithm->matching != Matching::all_else_any) {
      // bmw probes some windows first, so it may decode a block and compute its term scores twice.
      CHECK(figures.counts.postings_scored <= 2 * figures.postings);
      CHECK(figures.counts.blocks_decoded <= 2 * figures.blocks);
    }
    CHECK(figures.times.mean_us > 0);
    CHECK(figures.times.p50_us <= figures.times.p99_us);
    CHECK(figures.times.p99_us <= figures.times.max_us);
    CHECK(figures.queries_per_second() * figures.times.mean_us == Approx(1e6));
    CHECK(figures.postings_per_second() ==
          Approx(static_cast<double>(figures.postings) / (figures.times.mean_us * 5e-6)));
    REQUIRE(figures.by_length.size() == 3);
    for (std::size_t row = 0; row < 3; ++row) CHECK(figures.by_length[row].terms == row);
    CHECK(figures.by_length[0].queries == 2);
    CHECK(figures.by_length[1].queries == 2);
    CHECK(figures.by_length[2].queries == 1);
    REQUIRE(figures.batches.size() == 2);
    CHECK(figures.batches[0].threads == 1);
    CHECK(figures.batches[1].threads == 2);
    for (const BatchFigures& batch : figures.batches) CHECK(batch.seconds > 0);
  }
  // The exhaustive union scores every posting of the queries' lists.
  const auto exhaustive = std::find_if(measured.begin(), measured.end(),
                                       [](const auto& figures) { return figures.set_up.algorithm->name == "or"; });
  CHECK(exhaustive->counts.postings_scored == exhaustive->postings);
  CHECK(exhaustive->counts.blocks_decoded == exhaustive->blocks);
}

TEST_CASE("long queries share rows of figures", "[measure]") {
  CHECK(length_row(0) == 0);
  CHECK(length_row(5) == 5);
  CHECK(length_row(6) == 6);
  CHECK(length_row(9) == 6);
  CHECK(length_row(10) == 10);
  CHECK(length_row(64) == 10);
}

TEST_CASE("queries longer than the last row are counted there", "[measure]") {
  SmallEngine small;
  std::string text;
  small.index.for_each_list(0, [&](std::string_view term, const PostingList&) { text += std::string(term) + " "; });
  const std::vector<std::string_view> long_query = {text};
  const std::vector<QuerySetUp> set_up = {small.engines.set_up(algorithm_named("or"))};
  NoProgress progress;
  const auto measured = measure_queries(long_query, set_up, {1, 0, 1}, progress);
  REQUIRE(measured.front().by_length.size() == 1);
  CHECK(measured.front().by_length.front().terms == first_long_length);
  CHECK(measured.front().batches.empty());
}

TEST_CASE("a wrong answer stops the benchmark with an error that names it", "[measure]") {
  SmallEngine small;
  NoProgress progress;
  const std::vector<std::string_view> short_queries = {"everywhere", "often everywhere"};
  std::string plenty;
  small.index.for_each_list(0, [&](std::string_view term, const PostingList& list) {
    if (list.df > 20 && term != "often" && term != "everywhere") plenty = "often everywhere " + std::string(term);
  });
  REQUIRE_FALSE(plenty.empty());
  const std::vector<std::string_view> texts_of_three = {"everywhere", plenty};
  const std::vector<QuerySetUp> set_ups = {small.engines.set_up(algorithm_named("maxscore")),
                                           small.engines.set_up(wrong_algorithm)};
  CHECK_NOTHROW(measure_queries(short_queries, set_ups, {1, 0, 1}, progress));
  try {
    measure_queries(texts_of_three, set_ups, {1, 0, 1}, progress);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    const std::string text = error.what();
    INFO(text);
    for (const std::string& part : {std::string("wrong with k = 10"), plenty, std::string("rank 10")})
      CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("engines of one family must agree, those of different families need not", "[measure]") {
  SmallEngine small;
  Engines other(small.shards, {{2.0, 0.5}, Idf::lucene});
  NoProgress progress;
  const QueryAlgorithm& any = algorithm_named("or");
  const std::vector<QuerySetUp> strangers = {small.engines.set_up(any), other.set_up(any, 10, 1)};
  CHECK_NOTHROW(measure_queries(texts, strangers, {1, 0, 1}, progress));
  const std::vector<QuerySetUp> kin = {small.engines.set_up(any), other.set_up(any)};
  CHECK_THROWS_AS(measure_queries(texts, kin, {1, 0, 1}, progress), Error);
}

TEST_CASE("shards are measured as the whole index, and have its answers and figures", "[measure][shards]") {
  const std::uint32_t count = 3;
  testing::SplitCorpus corpus(testing::random_corpus(7, {300, 120, 40, true}), 2);
  const DocumentOrder order = corpus.pipeline.order(corpus.whole, OrderBy::random, 7);
  const IndexShards whole = as_shards(Pipeline::open_index(corpus.pipeline.build(corpus.whole, order, {})));
  std::vector<IndexReader> cut;
  for (std::uint32_t number = 1; number <= count; ++number) {
    const auto file = corpus.pipeline.new_file();
    cut_index(whole[0], {number, count}, nullptr, corpus.pipeline.resources, *file);
    cut.push_back(Pipeline::open_index(file));
  }
  const IndexShards shards(std::move(cut));
  CHECK(shards.collection_hash() == whole.collection_hash());
  CHECK(shards.num_postings() == whole.num_postings());
  Engines of_whole(whole, {}), of_shards(shards, {});
  std::vector<QuerySetUp> set_ups = all_set_ups(of_whole), more = all_set_ups(of_shards);
  const std::size_t half = set_ups.size();
  set_ups.insert(set_ups.end(), more.begin(), more.end());
  NoProgress progress;
  // They are one family: it compares their answers.
  const auto measured = measure_queries(texts, set_ups, {1, 0, 2, true}, progress);
  for (std::size_t i = 0; i < half; ++i) {
    CHECK(measured[i].postings == measured[half + i].postings);
    for (std::size_t query = 0; query < texts.size(); ++query)
      CHECK(measured[i].each_query[query].features.terms == measured[half + i].each_query[query].features.terms);
  }
}

TEST_CASE("a benchmark without queries, terms, set-ups or repeats is refused", "[measure]") {
  SmallEngine small;
  NoProgress progress;
  const auto set_ups = all_set_ups(small.engines);
  CHECK_THROWS_AS(measure_queries({}, set_ups, {1, 0, 1}, progress), InvalidArgument);
  CHECK_THROWS_AS(measure_queries(texts, {}, {1, 0, 1}, progress), InvalidArgument);
  CHECK_THROWS_AS(measure_queries(texts, set_ups, {0, 0, 1}, progress), InvalidArgument);
  const std::vector<std::string_view> unknown = {"nowhere", ""};
  CHECK_THROWS_AS(measure_queries(unknown, set_ups, {1, 0, 1}, progress), InvalidArgument);
}

TEST_CASE("the median is the middle value, or the larger of two", "[measure]") {
  CHECK(median(std::vector<int>{5}) == 5);
  CHECK(median(std::vector<int>{9, 1, 5}) == 5);
  CHECK(median(std::vector<int>{4, 1, 2, 3}) == 3);
}

}  // namespace quern
