#include <algorithm>
#include <map>

#include "quern/core/random.hpp"
#include "quern/query/window_union.hpp"

#include "catch.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/query_checks.hpp"

/// Lists walked in windows, and their unions, against a model of the index; blocks of 2 to 8 postings, so that windows
/// and blocks overlap in every way.
namespace quern {
namespace {

using namespace testing;

/// What a posting of one list adds to its document's score.
using TermScores = std::map<docid_t, float>;

/// One index for each block size, with a model of all of them.
class SmallBlocks {
 public:
  SmallBlocks()
      : documents_(random_corpus(89, {2600, 400, 14, false})),
        collection_(pipeline_.parse(as_jsonl(documents_))),
        order_(pipeline_.order(collection_)),
        model(documents_, order_.documents) {}

  template <class Visit>
  void for_each_index(Visit&& visit) {
    for (const unsigned block_size : {2u, 4u, 8u}) {
      BuildOptions options;
      options.codec_options.block_size = block_size;
      INFO(coding_text(options));
      const IndexReader index = Pipeline::open_index(pipeline_.build(collection_, order_, options));
      const QueryEngine engine(index, {});
      QueryStatistics statistics;
      ScoringContext context = engine.scoring_context();
      context.statistics = &statistics;
      visit(engine, context);
    }
  }

  /// The term's list in the index, and what its postings add to scores by the model.
  WeightedList list(const QueryEngine& engine, const std::string& term, TermScores& scores) const {
    bool all_found = false;
    const auto lists = engine.lists_of({term}, all_found);
    REQUIRE(all_found);
    const auto& postings = model.lists().at(term);
    const float weight = model.weight(postings.size(), 1);
    scores.clear();
    for (const ModelPosting& posting : postings) scores[posting.docid] = weight * model.term_score(posting);
    return lists.front();
  }

 private:
  Pipeline pipeline_;
  std::vector<ModelDocument> documents_;
  CollectionReader collection_;
  DocumentOrder order_;

 public:
  const ModelIndex model;
};

const std::vector<std::string> terms = {"everywhere", "often", "w0", "w1", "w7", "w30", "w300"};

/// Block maxima are rounded up to 16 bits, so bounds of blocks may exceed that of their list by this.
constexpr float rounding = 1e-3f;

/// Ascending docIDs with positive scores.
std::vector<ScoredDocument> random_candidates(RandomBits& random, docid_t num_documents, std::uint64_t mean_gap) {
  std::vector<ScoredDocument> candidates;
  for (docid_t docid = 0; docid < num_documents; docid += 1 + static_cast<docid_t>(random.below(2 * mean_gap)))
    candidates.push_back({docid, static_cast<float>(1 + random.below(1000)) / 500});
  return candidates;
}

float score_in(const TermScores& scores, docid_t docid) {
  const auto found = scores.find(docid);
  return found == scores.end() ? 0 : found->second;
}

}  // namespace

TEST_CASE("a list adds its postings to any windows, within their upper bounds", "[query][window][property]") {
  SmallBlocks small;
  RandomBits random(97);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    const docid_t num_documents = engine.index().num_documents();
    for (const std::string& term : terms) {
      INFO(term);
      TermScores expected;
      const WeightedList list = small.list(engine, term, expected);
      ListWindow window(context, list);
      for (int walk = 0; walk < 6; ++walk) {
        docid_t begin = walk == 0 ? 0 : static_cast<docid_t>(random.below(num_documents));
        window.restart(begin);
        while (begin < num_documents && expected.lower_bound(begin) != expected.end()) {
          const docid_t end = std::min<docid_t>(num_documents, begin + 1 + static_cast<docid_t>(random.below(300)));
          REQUIRE(window.next_docid() <= expected.lower_bound(begin)->first);
          const float bound = window.bound(begin, end);
          REQUIRE(bound <= window.max_term_score() + rounding);
          // Some windows are left out.
          if (random.below(4) != 0) {
            std::vector<float> scores(end - begin, 0.0f);
            window.add_to(begin, end, scores.data());
            for (docid_t docid = begin; docid < end; ++docid) {
              REQUIRE(scores[docid - begin] == score_in(expected, docid));
              REQUIRE(scores[docid - begin] <= bound);
            }
          }
          begin = end;
        }
      }
    }
  });
}

TEST_CASE("upper bounds of all windows are those of each", "[query][window][property]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    const Windows windows(engine.index().num_documents());
    REQUIRE(windows.count() > 3);
    for (const std::string& term : terms) {
      INFO(term);
      TermScores expected;
      ListWindow list(context, small.list(engine, term, expected));
      std::vector<double> sums(windows.count(), 1.0);
      list.add_bounds(windows, sums);
      std::vector<float> best(windows.count(), 0.0f);
      for (const auto& [docid, score] : expected) best[windows.of(docid)] = std::max(best[windows.of(docid)], score);
      for (std::size_t w = 0; w < windows.count(); ++w) {
        REQUIRE(sums[w] >= 1.0 + best[w]);
        REQUIRE(sums[w] <= 1.0 + double{list.max_term_score()} + double{rounding});
        if (best[w] > 0) REQUIRE(sums[w] - 1.0 >= double{list.bound(windows.begin(w), windows.end(w))} * (1 - 1e-6));
      }
    }
  });
}

TEST_CASE("a list completes candidates and drops those that cannot become results", "[query][window][property]") {
  SmallBlocks small;
  RandomBits random(101);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const std::string& term : terms) {
      INFO(term);
      TermScores expected;
      const WeightedList list = small.list(engine, term, expected);
      ListWindow window(context, list);
      for (const std::uint64_t mean_gap : {1, 9, 200}) {
        const auto candidates = random_candidates(random, engine.index().num_documents(), mean_gap);
        const double rest = static_cast<double>(random.below(100)) / 50;
        const ScoreCut cut(1 + static_cast<double>(random.below(300)) / 100, 3, 0);
        const float least = cut.min_score(rest);
        window.restart(0);
        auto kept = candidates;
        window.complete(kept, rest, cut);
        auto next = kept.begin();
        for (const ScoredDocument& candidate : candidates) {
          const float score = candidate.score + score_in(expected, candidate.docid);
          if (next != kept.end() && next->docid == candidate.docid) {
            REQUIRE(next->score == score);
            REQUIRE(score > least);
            ++next;
          } else {
            REQUIRE(score <= least * (1 + 0x1p-20f));
          }
        }
        REQUIRE(next == kept.end());
      }
    }
  });
}

TEST_CASE("a list keeps the candidates that it contains, with their term scores", "[query][window][property]") {
  SmallBlocks small;
  RandomBits random(103);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const std::string& term : terms) {
      INFO(term);
      TermScores expected;
      ListWindow window(context, small.list(engine, term, expected));
      for (const std::uint64_t mean_gap : {1, 9, 200}) {
        auto kept = random_candidates(random, engine.index().num_documents(), mean_gap);
        std::vector<ScoredDocument> wanted;
        for (const ScoredDocument& candidate : kept)
          if (expected.count(candidate.docid) != 0)
            wanted.push_back({candidate.docid, candidate.score + expected.at(candidate.docid)});
        window.restart(0);
        window.intersect(kept);
        REQUIRE(kept == wanted);
      }
    }
  });
}

TEST_CASE("blocks come one after another, from any docID on", "[query][window][property]") {
  SmallBlocks small;
  RandomBits random(107);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const std::string& term : terms) {
      INFO(term);
      TermScores expected;
      const WeightedList list = small.list(engine, term, expected);
      for (int walk = 0; walk < 3; ++walk) {
        docid_t from = walk == 0 ? 0 : static_cast<docid_t>(random.below(engine.index().num_documents()));
        ListWindow window(context, list);
        auto next = expected.lower_bound(from);
        std::vector<ScoredDocument> documents;
        while (window.take_block(from, documents)) {
          REQUIRE(!documents.empty());
          for (const ScoredDocument& document : documents) {
            REQUIRE(next != expected.end());
            REQUIRE(document == ScoredDocument{next->first, 0});
            ++next;
          }
          from = documents.back().docid + 1;
        }
        REQUIRE(next == expected.end());
      }
    }
  });
}

TEST_CASE("windows bound their documents' scores, and probed ones are done", "[query][window][property]") {
  SmallBlocks small;
  const auto queries = draw_queries(17, small.model, 30);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const auto& query : queries) {
      INFO("query " << text_of(query));
      bool all_found = false;
      const auto lists = engine.lists_of(query, all_found);
      if (lists.empty()) continue;
      const auto all = small.model.search(query, false, engine.index().num_documents());
      for (const std::size_t k : {1, 10, 200}) {
        TopK top(k, all.size());
        WindowUnion windows(context, lists, top);
        for (const ScoredDocument& document : all)
          REQUIRE(with_slack(windows.bounds()[windows.windows().of(document.docid)], lists.size()) >= document.score);
        windows.probe();
        for (std::size_t w = 0; w < windows.bounds().size(); ++w) REQUIRE(windows.bounds()[w] >= context.nothing());
        windows.finish();
        require_same(top.take(), small.model.search(query, false, k));
      }
    }
  });
}

}  // namespace quern
