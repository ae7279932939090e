#include <algorithm>
#include <map>
#include <numeric>

#include "quern/core/random.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/scored_intersection.hpp"

#include "catch.hpp"
#include "search/read_queries.hpp"
#include "search/small_blocks.hpp"

/// Lists intersected block by block against a model of the index, with blocks of 2 to 8 postings.
namespace quern {
namespace {

using namespace testing;

/// The documents that a list contains and whose term scores may exceed `min`.
std::vector<docid_t> found_in(IntersectedList& list, std::vector<docid_t> docids, float min) {
  const std::size_t count = docids.size();
  docids.resize(count + kernel_slack);
  list.restart(0);
  docids.resize(list.keep_found(docids.data(), count, min));
  return docids;
}

/// Some ascending docIDs.
std::vector<docid_t> random_docids(RandomBits& random, docid_t num_documents, std::uint64_t mean_gap) {
  std::vector<docid_t> docids;
  for (docid_t docid = 0; docid < num_documents && docids.size() < max_looked_up;
       docid += 1 + static_cast<docid_t>(random.below(2 * mean_gap)))
    docids.push_back(docid);
  return docids;
}

}  // namespace

TEST_CASE("a list finds the documents that it contains, and scores the chosen ones",
          "[query][intersection][property]") {
  SmallBlocks small;
  RandomBits random(103);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const std::string& term : small_terms) {
      INFO(term);
      TermScores expected;
      IntersectedList list(context, small.list(engine, term, expected), false, random.below(2) == 0);
      for (const std::uint64_t mean_gap : {1, 3, 9, 200}) {
        const auto docids = random_docids(random, engine.index().num_documents(), mean_gap);
        const std::vector<docid_t> kept = found_in(list, docids, -1);
        std::vector<docid_t> wanted;
        for (const docid_t docid : docids)
          if (expected.count(docid) != 0) wanted.push_back(docid);
        REQUIRE(kept == wanted);
        // Every other one is chosen.
        std::vector<std::uint16_t> numbers;
        std::vector<docid_t> chosen;
        for (std::size_t i = 0; i < kept.size(); i += 2) {
          numbers.push_back(static_cast<std::uint16_t>(i));
          chosen.push_back(kept[i]);
        }
        list.choose(numbers);
        std::vector<float> scores(chosen.size(), 1.0f);
        list.add_term_scores(chosen.data(), chosen.size(), scores.data());
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          REQUIRE(docids[numbers[i]] == chosen[i]);
          REQUIRE(scores[i] == 1.0f + expected.at(chosen[i]));
        }
      }
    }
  });
}

TEST_CASE("blocks whose term scores are too low are skipped", "[query][intersection][property]") {
  SmallBlocks small;
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const std::string& term : small_terms) {
      INFO(term);
      TermScores expected;
      IntersectedList list(context, small.list(engine, term, expected), false, false);
      std::vector<docid_t> docids;
      for (const auto& [docid, score] : expected)
        if (docids.size() < max_looked_up) docids.push_back(docid);
      const float min = 0.6f * list.max_term_score();
      const std::vector<docid_t> kept = found_in(list, docids, min);
      REQUIRE(std::includes(docids.begin(), docids.end(), kept.begin(), kept.end()));
      for (const docid_t docid : docids)
        if (!std::binary_search(kept.begin(), kept.end(), docid)) REQUIRE(expected.at(docid) <= min);
    }
  });
}

TEST_CASE("blocks are read from any docID on, with or without term scores", "[query][intersection][property]") {
  SmallBlocks small;
  RandomBits random(107);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const std::string& term : small_terms) {
      INFO(term);
      TermScores expected;
      const WeightedList weighted = small.list(engine, term, expected);
      for (int walk = 0; walk < 3; ++walk) {
        docid_t from = walk == 0 ? 0 : static_cast<docid_t>(random.below(engine.index().num_documents()));
        IntersectedList list(context, weighted, false, false);
        const float min = walk == 1 ? 0.4f * list.max_term_score() : -1;
        auto next = expected.lower_bound(from);
        std::array<docid_t, max_looked_up> docids;
        std::array<float, max_looked_up> scores;
        while (list.blocks().move_to(from)) {
          REQUIRE(list.enter_block(from) == next->first);
          const std::size_t count = walk == 2 ? list.take_block(from, docids.data())
                                              : list.take_block_above(from, min, {docids.data(), scores.data()});
          from = list.last(list.blocks().block()) + 1;
          std::size_t taken = 0;
          for (; next != expected.end() && next->first < from; ++next) {
            if (walk != 2 && next->second <= min) continue;
            REQUIRE(taken < count);
            REQUIRE(docids[taken] == next->first);
            if (walk != 2) REQUIRE(scores[taken] == next->second);
            ++taken;
          }
          REQUIRE(taken == count);
        }
        REQUIRE(next == expected.end());
      }
    }
  });
}

TEST_CASE("lists are not opened once no document is left", "[query][intersection][property]") {
  SmallBlocks small;
  // Lists of one or two blocks, which are decoded on opening.
  std::vector<std::string> terms;
  for (const auto& [term, postings] : small.model.lists())
    if (postings.size() > 1 && postings.size() <= 8) terms.push_back(term);
  REQUIRE(terms.size() > 30);
  RandomBits random(109);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    const auto blocks_of = [&](std::span<const WeightedList> lists) {
      context.statistics->blocks_decoded = 0;
      TopK top(10, engine.index().num_documents());
      ScoredIntersection(context, lists, top, false).run();
      CHECK(top.take().empty());
      return context.statistics->blocks_decoded;
    };
    std::size_t compared = 0;
    for (int query = 0; query < 100; ++query) {
      std::vector<std::string> drawn;
      for (int i = 0; i < 8; ++i) drawn.push_back(terms[random.below(terms.size())]);
      bool all_found = false;
      const auto lists = engine.lists_of(query_of(drawn), all_found);
      TopK top(1, engine.index().num_documents());
      const auto first_two = std::span(lists).first(2);
      ScoredIntersection(context, first_two, top, false).run();
      if (!top.take().empty()) continue;
      REQUIRE(blocks_of(lists) == blocks_of(first_two));
      ++compared;
    }
    REQUIRE(compared > 50);
  });
}

TEST_CASE("intersections with tiny blocks are those of the model", "[query][intersection][property]") {
  SmallBlocks small;
  const auto queries = draw_queries(19, small.model, 60);
  small.for_each_index([&](const QueryEngine& engine, const ScoringContext& context) {
    for (const auto& query : queries) {
      INFO("query " << text_of(query));
      bool all_found = false;
      const auto lists = engine.lists_of(query_of(query), all_found);
      if (lists.empty() || !all_found) continue;
      for (const std::size_t k : {1, 3, 10, 200}) {
        TopK top(k, engine.index().num_documents());
        ScoredIntersection(context, lists, top, k % 2 == 0).run();
        require_same(top.take(), small.model.search(query, true, k));
      }
    }
  });
}

}  // namespace quern
