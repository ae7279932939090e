#include "gpu/range_on_host.hpp"
//
#include "catch.hpp"
#include "gpu/every_strategy.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/random_documents.hpp"

/// The kernels of the strategy `range` give the CPU's results for parts of lists: windows of documents, and fronts
/// after which the CPU continues.
namespace quern {
namespace {

using namespace testing;

/// Windows, and memory for their decoded lists.
class DecodedWindows {
 public:
  DecodedWindows(gpu::ListCache& cache, const gpu::QueryBatch& batch, RandomBits& random)
      : windows_(cache, batch, random), entries_(windows_.entry_room(), 0) {}
  Way way(Way chosen) {
    chosen.entries = &entries_;
    chosen.windows = &windows_;
    return chosen;
  }

 private:
  HostWindows windows_;
  HostEntries entries_;
};

void check_windows(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries, RandomBits& random,
                   const DocumentSet* passing = nullptr) {
  Analyzer analyzer = engine.make_analyzer();
  for (Way chosen : {Way{false, false, true, gpu::Pruning::blocks}, Way{true, false, true}, Way{false, false, true}}) {
    chosen.passing = passing;
    // Queries with too many candidates run again, as on a GPU, unless that would not help.
    std::vector<std::uint32_t> min_units(queries.size());
    bool again = true;
    std::size_t left_to_cpu = 0;
    for (unsigned run = 0; again && run < 4; ++run) {
      again = false;
      left_to_cpu = 0;
      HostIndex index(engine);
      BatchQueries asked;
      asked.passing = passing;
      const gpu::QueryBatch batch = batch_of(engine, queries, chosen.intersect, 10, asked, min_units);
      gpu::ListCache cache = index.keep_fronts(batch.batch_lists(), random);
      DecodedWindows windows(cache, batch, random);
      HostBatch host(index, batch, 10, chosen.pruning == gpu::Pruning::blocks);
      run_way(index, host, windows.way(chosen));
      REQUIRE(index.damaged() == 0);
      for (std::size_t i = 0; i < asked.texts.size(); ++i) {
        INFO("intersect " << chosen.intersect << ", pruning " << static_cast<int>(chosen.pruning) << ", run " << run
                          << ", query " << asked.texts[i]);
        if (const auto least = host.min_units_again(i)) {
          again |= *least > min_units[i];
          min_units[i] = *least;
          ++left_to_cpu;
          continue;
        }
        require_same(host.results(i),
                     engine.search(terms_of_text(asked.texts[i], analyzer),
                                   algorithm_named(chosen.intersect ? "and" : "or"), 10, nullptr, passing));
      }
    }
    CHECK(left_to_cpu * 2 <= queries.size());
  }
}

/// Runs by windows of documents, with only random fronts of some lists, after which the CPU continues.
void check_fronts_by_windows(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries,
                             RandomBits& random, QueryEnds& ends) {
  HostIndex index(engine);
  CutBatch cut(index, queries, 10, random, true);
  DecodedWindows windows(cut.cache(), cut.batch(), random);
  HostBatch host(index, cut.batch(), 10, false);
  run_way(index, host, windows.way({true, false, true}));
  REQUIRE(index.damaged() == 0);
  cut.check(host, ends);
}

/// Runs with only random fronts of most lists, after which the CPU continues; k differs between alternatives.
void check_fronts(const QueryEngine& engine, const std::vector<std::vector<std::string>>& queries, RandomBits& random,
                  QueryEnds& ends, const DocumentSet* passing = nullptr) {
  std::size_t k = 1;
  for (Way way : {Way{true, false}, Way{true, false, true}, Way{true, true}}) {
    way.passing = passing;
    HostIndex index(engine);
    CutBatch cut(index, queries, k, random, false, passing);
    HostEntries entries = entries_for(cut.batch());
    entries.place(cut.batch());
    HostBatch host(index, cut.batch(), k, false);
    host.use(entries);
    run_way(index, host, way);
    REQUIRE(index.damaged() == 0);
    INFO("from lists " << way.from_lists << ", scored first " << way.score_first);
    cut.check(host, ends);
    k *= 7;
  }
}

}  // namespace

TEST_CASE("emulated kernels give the CPU's results window by window", "[gpu_emulated][gpu_store][property]") {
  // Three ranges of documents.
  IndexedCorpus corpus(59, {33000, 40, 4, false});
  const auto queries = draw_queries(7, corpus.model, 4);
  RandomBits random(53);
  for (const Codec* codec : codecs_of_slow_tests()) {
    const BuildOptions options = coded(*codec, {64, codec->name == "rpfd" ? 2u : 1u}, 8);
    INFO(coding_text(options));
    const IndexReader index = corpus.index(options);
    const Scores scores = codec->name == "rice" ? Scores::exact : Scores::quantized;
    check_windows(QueryEngine(index, with_scores(scores)), queries, random);
    if (codec->name == "maskpfd") check_windows(QueryEngine(index, {}), queries, random);
  }
}

TEST_CASE("emulated kernels give the CPU's results among the documents of a filter, window by window",
          "[gpu_emulated][gpu_store][filter][property]") {
  // Three ranges of documents; no document of one of them passes.
  IndexedCorpus corpus(59, {33000, 40, 4, false});
  const auto queries = draw_queries(7, corpus.model, 4);
  RandomBits random(53);
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const QueryEngine engine(index, {});
  for (const std::uint64_t one_in : {1, 5, 300}) {
    INFO("one document in " << one_in);
    const DocumentSet some = random_documents(index.num_documents(), one_in, random);
    DocumentSet passing(index.num_documents());
    for (docid_t docid = 0; docid < index.num_documents(); ++docid)
      if (docid / gpu::range_documents != 1 && some.contains(docid)) passing.add(docid);
    check_windows(engine, queries, random, &passing);
  }
}

TEST_CASE("emulated kernels over fronts of lists give the CPU's results after it resumes the queries",
          "[gpu_emulated][gpu_store][property]") {
  RandomBits random(61);
  IndexedCorpus corpus(61, {700, 90, 24, false});
  const auto queries = draw_queries(3, corpus.model, 14);
  QueryEnds plain;
  for (const Codec* codec : all_codecs()) {
    for (const CodecOptions& coding : {CodecOptions{8, 1}, CodecOptions{128, 1}}) {
      const IndexReader index = corpus.index(coded(*codec, coding, 8));
      INFO(index.codec().name << ", blocks of " << coding.block_size);
      for (const Scores scores : {Scores::exact, Scores::quantized})
        check_fronts(QueryEngine(index, with_scores(scores)), queries, random, plain);
    }
  }
  CHECK(plain.whole > 20);
  CHECK(plain.resumed > 50);
  CHECK(plain.run_again == 0);

  QueryEnds early;
  check_fronts_by_global_scores(67, [&](const QueryEngine& engine, const QueryWords& page_queries) {
    check_fronts(engine, page_queries, random, early);
  });
  QueryEnds filtered;
  for (unsigned turn = 0; turn < 6; ++turn) {
    const IndexReader index = corpus.index(coded(*all_codecs().front(), {8, 1}, 8));
    const DocumentSet passing = random_documents(index.num_documents(), 1 + 3 * turn, random);
    check_fronts(QueryEngine(index, {}), queries, random, filtered, &passing);
  }
  CHECK(filtered.resumed > 20);

  CHECK(early.ended_on_front > 50);
  CHECK(early.resumed > 20);
}

TEST_CASE("emulated kernels over fronts of lists give the CPU's results window by window",
          "[gpu_emulated][gpu_store][property]") {
  RandomBits random(79);
  IndexedCorpus corpus(59, {33000, 40, 4, false});  // three ranges of documents
  const auto queries = draw_queries(7, corpus.model, 8);
  QueryEnds ends;
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  for (unsigned turn = 0; turn < 3; ++turn)
    check_fronts_by_windows(QueryEngine(index, with_scores(Scores::quantized)), queries, random, ends);
  CHECK(ends.resumed > 5);
  CHECK(ends.run_again < ends.resumed);
}

TEST_CASE("emulated kernels stay within bounds over damaged windows", "[gpu_emulated][gpu_store]") {
  IndexedCorpus corpus(57, {33000, 30, 4, false});
  const auto queries = draw_queries(9, corpus.model, 3);
  RandomBits random(51);
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const QueryEngine engine(index, {});
  std::uint32_t found = 0;
  for (unsigned i = 0; i < 4; ++i) {
    HostIndex damaged(engine);
    damaged.damage(random);
    BatchQueries asked;
    const gpu::QueryBatch batch = batch_of(engine, queries, i % 2 == 0, 10, asked);
    gpu::ListCache cache = damaged.keep_fronts(batch.batch_lists(), random);
    DecodedWindows windows(cache, batch, random);
    HostBatch host(damaged, batch, 10, true);
    run_way(damaged, host, windows.way({i % 2 == 0, false, true, gpu::Pruning::blocks}));
    found += damaged.damaged();
  }
  CHECK(found > 0);
}

}  // namespace quern
