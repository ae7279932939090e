#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/search/range_union.hpp"

#include "catch.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "search/read_queries.hpp"
#include "search/small_blocks.hpp"

/// Ranges of documents scored together, with few and with many postings, and their use by `wand` and `bmw`.
namespace quern {
namespace {

using namespace testing;

using DocumentScores = std::map<docid_t, float>;

/// The scores of all documents with any of a query's terms.
DocumentScores scores_of(const ModelIndex& model, const std::vector<std::string>& query, docid_t num_documents) {
  DocumentScores scores;
  for (const ScoredDocument& document : model.search(query, false, num_documents))
    scores[document.docid] = document.score;
  return scores;
}

struct QueryLists {
  std::vector<WeightedList> weighted;
  std::vector<ListWindow> windows;
  std::vector<float> bounds;

  QueryLists(const QueryEngine& engine, const ScoringContext& context, const std::vector<std::string>& query,
             bool by_block) {
    bool all_found = false;
    weighted = engine.lists_of(query_of(query), all_found);
    windows.reserve(weighted.size());
    for (const WeightedList& list : weighted) {
      windows.emplace_back(context, list, by_block);
      bounds.push_back(windows.back().max_term_score());
    }
  }
};

/// Scores ascending ranges, skips some, and compares the documents that pass `min` with the model.
void check_ranges(RandomBits& random, const ScoringContext& context, QueryLists& lists, const DocumentScores& scores,
                  docid_t window, float min) {
  const docid_t num_documents = context.index->num_documents();
  TopK top(num_documents, num_documents);
  RangeUnion ranges(context, lists.windows, Windows(window, window), 1 + random.below(window), top);
  const ScoreCut cut(min, lists.weighted.size(), 0);
  std::vector<ScoredDocument> passing;
  const std::uint64_t length = 1 + random.below(num_documents);
  for (docid_t begin = 0; begin < num_documents;) {
    docid_t end = begin + 1 + static_cast<docid_t>(random.below(length));
    end = std::min(end, num_documents);
    if (random.below(4) == 0) {
      begin = end;
      continue;
    }
    const docid_t stop = ranges.score(begin, end, {lists.bounds, 0}, cut);
    REQUIRE(stop > begin);
    REQUIRE(stop <= end);
    for (auto at = scores.lower_bound(begin); at != scores.end() && at->first < stop; ++at)
      if (at->second > min) passing.push_back({at->first, at->second});
    begin = stop;
  }
  std::vector<ScoredDocument> found = top.take();
  for (const ScoredDocument& document : found) {
    const auto at = scores.find(document.docid);
    REQUIRE(at != scores.end());
    REQUIRE(document.score == at->second);
    REQUIRE(document.score > cut.min_score(0));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.docid < b.docid; });
  found.erase(std::remove_if(found.begin(), found.end(), [&](const auto& document) { return document.score <= min; }),
              found.end());
  REQUIRE(found == passing);
}

std::uint64_t blocks_decoded(const QueryEngine& engine, std::string_view text, std::string_view algorithm,
                             QueryStatistics& statistics) {
  Analyzer analyzer = engine.make_analyzer();
  statistics = {};
  engine.search(terms_of_text(text, analyzer), algorithm_named(algorithm), 1, &statistics);
  return statistics.blocks_decoded;
}

}  // namespace

TEST_CASE("ranges give all documents above the threshold, with few postings or many", "[query][range][property]") {
  SmallBlocks small;
  RandomBits random(131);
  const auto queries = draw_queries(29, small.model, 60);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const auto& query : queries) {
      INFO("query " << text_of(query));
      const auto scores = scores_of(small.model, query, engine.index().num_documents());
      float best = 0;
      for (const auto& [docid, score] : scores) best = std::max(best, score);
      for (const docid_t window : {docid_t{512}, docid_t{2048}}) {
        QueryLists lists(engine, context, query, random.below(2) == 0);
        if (lists.weighted.empty()) continue;
        const float min = best * static_cast<float>(random.below(11)) / 10;
        INFO("window " << window << ", min " << min);
        check_ranges(random, context, lists, scores, window, min);
      }
    }
  });
}

TEST_CASE("a range of few postings ends before blocks would exceed its size", "[query][range][property]") {
  SmallBlocks small;
  RandomBits random(137);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    const docid_t num_documents = engine.index().num_documents();
    for (const std::string& term : small_terms) {
      INFO(term);
      TermScores expected;
      ListWindow window(context, small.list(engine, term, expected));
      for (docid_t begin = 0; begin < num_documents; begin += 1 + static_cast<docid_t>(random.below(200))) {
        if (expected.size() > 16 && window.next_docid() != end_docid)
          REQUIRE(window.end_of_postings(begin, 1) == begin);
        const std::size_t postings = random.below(100);
        const docid_t end = window.end_of_postings(begin, postings);
        REQUIRE(end >= begin);
        const auto from = expected.lower_bound(begin);
        if (end == begin && from != expected.end()) REQUIRE(postings < 17);
        REQUIRE(std::distance(from, expected.lower_bound(end)) <= static_cast<std::ptrdiff_t>(postings));
        // Two more blocks of at most 8 would not fit.
        if (end > begin && end < num_documents)
          REQUIRE(std::distance(from, expected.lower_bound(end)) + 16 > static_cast<std::ptrdiff_t>(postings));
        Candidates taken(num_documents);
        if (random.below(2) == 0) window.take_above(begin, std::min(end, num_documents), -1.0f, taken);
        begin = std::max(begin, std::min(end, num_documents) - 1);
      }
    }
  });
}

TEST_CASE("wand and bmw find the results for any k and block size", "[query][range][property]") {
  SmallBlocks small;
  const auto queries = draw_queries(31, small.model, 60);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const auto& query : queries) {
      INFO("query " << text_of(query));
      bool all_found = false;
      const auto lists = engine.lists_of(query_of(query), all_found);
      if (lists.empty()) continue;
      for (const std::size_t k : {1, 2, 10, 70, 1000}) {
        INFO("k " << k);
        const auto expected = small.model.search(query, false, k);
        TopK by_wand(k, engine.index().num_documents()), by_bmw(k, engine.index().num_documents());
        run_wand(context, lists, by_wand);
        require_same(by_wand.take(), expected);
        run_bmw(context, lists, by_bmw);
        require_same(by_bmw.take(), expected);
      }
    }
  });
}

TEST_CASE("wand and bmw find the results of a collection of many windows", "[query][range][property]") {
  Pipeline pipeline;
  // Enough documents for bmw to score some in advance, and twins with equal scores.
  auto documents = random_corpus(149, {4500, 300, 8, false});
  for (std::size_t i = 0, size = documents.size(); i < size; ++i) {
    documents.push_back(documents[i]);
    documents.back().docno += "-twin";
  }
  const ModelledCorpus corpus(pipeline, std::move(documents));
  const auto queries = draw_queries(37, corpus.model, 40);
  for (const unsigned block_size : {4u, 64u}) {
    BuildOptions options;
    options.codec_options.block_size = block_size;
    const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
    const QueryEngine engine(index, {});
    Analyzer analyzer = engine.make_analyzer();
    for (const auto& query : queries) {
      INFO("query " << text_of(query) << ", blocks of " << block_size);
      for (const std::size_t k : {1, 10, 1000})
        for (const std::string_view algorithm : {"wand", "bmw"})
          require_same(engine.search(terms_of_text(text_of(query), analyzer), algorithm_named(algorithm), k),
                       corpus.model.search(query, false, k));
    }
  }
}

TEST_CASE("wand jumps from pivot to pivot", "[query][range]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext&) {
    QueryStatistics one, both;
    // A rare term's documents are the pivots, since the other term alone makes no result.
    const std::uint64_t rare = blocks_decoded(engine, "w30", "wand", one);
    blocks_decoded(engine, "w30 everywhere", "wand", both);
    CHECK(both.postings_scored <= 2 * one.postings);
    CHECK(both.blocks_decoded <= rare + one.postings);
    CHECK(both.blocks_decoded < both.blocks / 4);
  });
}

TEST_CASE("without upper bounds of blocks a list completes the same documents, and decodes more", "[query][window]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& given) {
    std::array<QueryStatistics, 2> statistics;
    std::array<std::vector<ScoredDocument>, 2> kept;
    TermScores expected;
    const WeightedList list = small.list(engine, "everywhere", expected);
    for (const bool by_block : {false, true}) {
      ScoringContext context = given;
      context.statistics = &statistics[by_block];
      ListWindow window(context, list, by_block);
      const ScoreCut cut(1 + window.max_term_score() * 0.9, 2, 0);
      Candidates documents(engine.index().num_documents());
      for (docid_t docid = 0; docid < engine.index().num_documents(); docid += 5) {
        documents.docids()[docid / 5] = docid;
        documents.scores()[docid / 5] = 1;
        documents.grow(1);
      }
      window.complete(documents, 0, cut);
      for (std::size_t i = 0; i < documents.size(); ++i)
        kept[by_block].push_back({documents.docids()[i], documents.scores()[i]});
    }
    CHECK_FALSE(kept[0].empty());
    CHECK(kept[0] == kept[1]);
    CHECK(statistics[0].blocks_decoded > statistics[1].blocks_decoded);
  });
}

TEST_CASE("results end where upper bounds of documents do", "[query][range]") {
  const std::vector<float> bounds = {5, 4, 4, 2, 2, 1};
  ScoringContext context;
  CHECK(end_of_results(context, 1, 6, 3) == 6);
  context.upper_bounds = bounds;
  CHECK(end_of_results(context, 0, 6, 5) == 0);
  CHECK(end_of_results(context, 0, 6, 4) == 1);
  CHECK(end_of_results(context, 2, 6, 4) == 2);
  CHECK(end_of_results(context, 2, 6, 3) == 3);
  CHECK(end_of_results(context, 1, 3, 3) == 3);
  CHECK(end_of_results(context, 4, 6, 0) == 6);
}

}  // namespace quern
