#include <algorithm>

#include "catch.hpp"
#include "index/pipeline/model_index.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/pipeline.hpp"

/// Block rows and list bounds: never below (above) the bounded value, and as tight as their bits allow.
namespace quern {
namespace {

using namespace testing;

constexpr float impact_step = 0x1p-16f;

void check_rows(const PostingList& list, const std::vector<float>& term_scores,
                const std::vector<ModelPosting>& postings, unsigned block_size) {
  const std::size_t blocks = (postings.size() + block_size - 1) / block_size;
  if (blocks == 1) {
    CHECK(list.block_last.empty());
    CHECK(list.block_offset.empty());
    CHECK(list.block_max.empty());
    return;
  }
  REQUIRE(list.block_last.size() == blocks);
  REQUIRE(list.block_offset.size() == blocks);
  REQUIRE(list.block_max.size() == blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t from = block * block_size, to = std::min<std::size_t>(from + block_size, postings.size());
    REQUIRE(list.block_last[block] == postings[to - 1].docid);
    const float greatest = *std::max_element(term_scores.data() + from, term_scores.data() + to);
    const float bound = dequantize_up(list.block_max[block]);
    REQUIRE(bound >= greatest);
    REQUIRE(bound - impact_step < greatest);
    if (block > 0) REQUIRE(list.block_offset[block] > list.block_offset[block - 1]);
  }
}

void check_list_bounds(const PostingList& list, std::vector<float> term_scores) {
  std::sort(term_scores.begin(), term_scores.end(), std::greater<>());
  REQUIRE(list.max_impact == term_scores.front());
  REQUIRE(list.kth_impact[0] == term_scores.front());
  for (std::size_t i = 1; i < stored_ranks.size(); ++i) {
    INFO("rank " << stored_ranks[i]);
    if (term_scores.size() < stored_ranks[i]) {
      REQUIRE(list.kth_impact[i] == 0);
      continue;
    }
    const float kth = term_scores[stored_ranks[i] - 1];
    REQUIRE(list.kth_impact[i] <= kth);
    // As a fraction of the maximum, in steps of 1 / 255, rounded down twice.
    REQUIRE(list.kth_impact[i] + list.max_impact / 255 + 2 * impact_step >= kth);
  }
}

}  // namespace

TEST_CASE("block rows and the maximum and k-th best impacts bound their postings tightly", "[index][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(23, {1300, 300, 12, false}), OrderBy::random, 5);
  REQUIRE(corpus.model.lists().at("everywhere").size() >= 1000);
  const ModelScoring scoring = GENERATE(ModelScoring{1.2, 0.75, false}, ModelScoring{0, 0, false},
                                        ModelScoring{0.1, 1, false}, ModelScoring{100, 0.3, false});
  for (const unsigned block_size : {64u, 512u}) {
    BuildOptions options;
    options.codec_options.block_size = block_size;
    options.bm25 = {scoring.k1, scoring.b};
    const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
    for (const auto& [term, postings] : corpus.model.lists()) {
      INFO("term " << term << ", k1 " << scoring.k1 << ", blocks of " << block_size);
      const auto list = index.find(term);
      REQUIRE(list);
      std::vector<float> term_scores;
      for (const ModelPosting& posting : postings) term_scores.push_back(corpus.model.term_score(posting, scoring));
      if (list->is_short()) {
        REQUIRE(postings.size() <= 16);
        REQUIRE(list->max_impact == 0);
      } else {
        REQUIRE(postings.size() > 16);
        check_rows(*list, term_scores, postings, block_size);
        check_list_bounds(*list, term_scores);
      }
    }
  }
}

TEST_CASE("quantized impacts are rounded to the right side, within one step", "[index][property]") {
  const auto check = [](float impact) {
    INFO(impact);
    REQUIRE(dequantize_up(quantize_up(impact)) >= impact);
    REQUIRE(dequantize_up(quantize_up(impact)) - impact_step <= impact);
    REQUIRE(dequantize_down(quantize_down(impact)) <= impact);
    REQUIRE(dequantize_down(quantize_down(impact)) + impact_step >= impact);
  };
  for (std::uint32_t bits = 1; bits < 0x3f800000u; bits += 9973) {
    float impact;
    std::memcpy(&impact, &bits, sizeof impact);
    check(impact);
  }
  for (std::uint32_t steps = 1; steps <= 65536; ++steps) {
    check(static_cast<float>(steps) * impact_step);
    check(std::nextafter(static_cast<float>(steps) * impact_step, 0.0f));
    if (steps < 65536) {
      REQUIRE(quantize_up(static_cast<float>(steps) * impact_step) == steps - 1);
      REQUIRE(quantize_down(static_cast<float>(steps) * impact_step) == steps);
    }
  }
}

}  // namespace quern
