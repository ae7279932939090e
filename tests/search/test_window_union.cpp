#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/search/range_union.hpp"

#include "catch.hpp"
#include "search/read_queries.hpp"
#include "search/small_blocks.hpp"

/// Lists read in windows, and their unions, against a model of the index. Blocks of 2 to 8 postings make windows and
/// blocks overlap in every way.
namespace quern {
namespace {

using namespace testing;

/// Block maxima are rounded up to 16 bits, so block bounds may exceed the list's bound by this.
constexpr float rounding = 1e-3f;

/// Ascending docIDs with positive scores.
std::vector<ScoredDocument> random_candidates(RandomBits& random, docid_t num_documents, std::uint64_t mean_gap) {
  std::vector<ScoredDocument> candidates;
  for (docid_t docid = 0; docid < num_documents; docid += 1 + static_cast<docid_t>(random.below(2 * mean_gap)))
    candidates.push_back({docid, static_cast<float>(1 + random.below(1000)) / 500});
  return candidates;
}

Candidates as_candidates(const std::vector<ScoredDocument>& documents) {
  Candidates candidates(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    candidates.docids()[i] = documents[i].docid;
    candidates.scores()[i] = documents[i].score;
  }
  candidates.resize(documents.size());
  return candidates;
}

std::vector<ScoredDocument> documents_of(Candidates& candidates) {
  std::vector<ScoredDocument> documents;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    documents.push_back({candidates.docids()[i], candidates.scores()[i]});
  return documents;
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
    for (const std::string& term : small_terms) {
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
          // Skips some windows.
          const std::uint64_t drawn = random.below(8);
          if (drawn > 5) {
            const float min = bound * static_cast<float>(random.below(10)) / 10;
            Candidates taken(end - begin);
            window.take_above(begin, end, min, taken);
            std::vector<ScoredDocument> wanted;
            for (auto at = expected.lower_bound(begin); at != expected.end() && at->first < end; ++at)
              if (at->second > min) wanted.push_back({at->first, at->second});
            REQUIRE(documents_of(taken) == wanted);
          } else if (drawn > 1) {
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

TEST_CASE("upper bounds of all windows equal those of single windows", "[query][window][property]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    const Windows windows(engine.index().num_documents(), Windows::min_size);
    REQUIRE(windows.count() > 3);
    for (const std::string& term : small_terms) {
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
    for (const std::string& term : small_terms) {
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
        Candidates completed = as_candidates(candidates);
        window.complete(completed, rest, cut);
        const auto kept = documents_of(completed);
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

TEST_CASE("windows bound their documents' scores, and probed ones are finished", "[query][window][property]") {
  SmallBlocks small;
  const auto queries = draw_queries(17, small.model, 30);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const auto& query : queries) {
      INFO("query " << text_of(query));
      bool all_found = false;
      const auto lists = engine.lists_of(query_of(query), all_found);
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
