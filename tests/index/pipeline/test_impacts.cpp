#include <algorithm>
#include <cmath>

#include "quern/codec/bit_packing.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/index/list_source.hpp"
#include "quern/index/verify_index.hpp"

#include "catch.hpp"
#include "index/pipeline/model_index.hpp"
#include "index/pipeline/modelled_corpus.hpp"
#include "index/pipeline/pipeline.hpp"

/// Quantized impacts in an index, compared with naive ones from the documents' tokens.
namespace quern {
namespace {

using namespace testing;

class ModelImpacts {
 public:
  ModelImpacts(const ModelIndex& model, unsigned bits, const ModelScoring& scoring)
      : model_(model), scoring_(scoring), levels_(std::pow(2.0, bits) - 1), top_(model.top_term_score(scoring)) {}

  float top() const { return top_; }
  std::vector<std::uint32_t> of(const std::vector<ModelPosting>& postings) const {
    std::vector<std::uint32_t> impacts;
    for (const ModelPosting& posting : postings) {
      const float term_score = model_.weight(postings.size(), 1, scoring_) * model_.term_score(posting, scoring_);
      const double steps = static_cast<double>(term_score) * (levels_ / static_cast<double>(top_));
      impacts.push_back(static_cast<std::uint32_t>(std::max(1.0, std::floor(steps + 0.5))));
    }
    return impacts;
  }

 private:
  const ModelIndex& model_;
  ModelScoring scoring_;
  double levels_;
  float top_;
};

/// All impacts of a list: stored ones, or those from a short list's frequencies.
std::vector<std::uint32_t> impacts_of(const IndexReader& index, const PostingList& list) {
  std::vector<std::uint32_t> impacts;
  const ListImpacts read(index, list);
  for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next())
    impacts.push_back(read.at(impacts.size(), cursor.docid(), cursor.freq()));
  return impacts;
}

void check_stored(const IndexReader& index, const PostingList& list, const std::vector<std::uint32_t>& wanted) {
  const std::uint32_t greatest = *std::max_element(wanted.begin(), wanted.end());
  REQUIRE(index.quantized_max_impact(list) == greatest);
  REQUIRE(list.impact_width == impact_width_of(greatest));
  REQUIRE(list.impacts.size() == impact_list_words(list.df, index.block_size(), list.impact_width));
  const ImpactQuantizer quantize = *index.quantizer();
  std::vector<std::uint32_t> block_impacts(index.block_size() + unpack_slack);
  for (std::size_t from = 0; from < list.df; from += index.block_size()) {
    const auto n = static_cast<unsigned>(std::min<std::uint64_t>(index.block_size(), list.df - from));
    const std::size_t block = from / index.block_size();
    decode_impacts(impact_block(list.impacts, list.impact_width, index.block_size(), block), list.impact_width, n,
                   block_impacts.data());
    REQUIRE(std::equal(block_impacts.begin(), block_impacts.begin() + n, wanted.begin() + static_cast<long>(from)));
    if (list.block_max.empty()) continue;
    const float bound = index.quantized_weight(list) * dequantize_up(list.block_max[block]);
    REQUIRE(quantize(bound) >= *std::max_element(block_impacts.begin(), block_impacts.begin() + n));
  }
}

}  // namespace

TEST_CASE("quantized impacts are those of a model, for any bits, codec and block size",
          "[index][quantized][property]") {
  Pipeline pipeline;
  const ModelledCorpus corpus(pipeline, random_corpus(29, {500, 300, 40, false}), OrderBy::random, 5);
  for (const unsigned bits : {4u, 8u, 16u}) {
    for (const ModelScoring& scoring : {ModelScoring{1.2, 0.75, false}, ModelScoring{100, 0.3, false}}) {
      const ModelImpacts impacts(corpus.model, bits, scoring);
      for (const Codec* codec : all_codecs()) {
        for (const unsigned block_size : {2u, 8u, 64u, 512u}) {
          BuildOptions options;
          options.codec = codec->name;
          options.codec_options.block_size = block_size;
          options.bm25 = {scoring.k1, scoring.b};
          options.quantize_bits = bits;
          const IndexReader index = Pipeline::open_index(pipeline.build(corpus.collection, corpus.order, options));
          REQUIRE(index.quantizer()->top() == impacts.top());
          REQUIRE(index.quantizer()->bits() == bits);
          for (const auto& [term, postings] : corpus.model.lists()) {
            INFO("term " << term << ", " << bits << " bits, " << coding_text(options));
            const auto list = index.find(term);
            const auto wanted = impacts.of(postings);
            REQUIRE(impacts_of(index, *list) == wanted);
            if (list->is_short()) {
              REQUIRE(list->impacts.empty());
              REQUIRE(index.quantized_max_impact(*list) >= *std::max_element(wanted.begin(), wanted.end()));
            } else {
              check_stored(index, *list, wanted);
            }
          }
          CHECK_NOTHROW(verify_index(index, pipeline.resources));
        }
      }
    }
  }
}

TEST_CASE("an index without quantized impacts has no trace of them", "[index][quantized]") {
  Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(as_jsonl(random_corpus(29, {100, 30, 40, false}))));
  const DocumentOrder order = pipeline.order(collection);
  const IndexReader plain = Pipeline::open_index(pipeline.build(collection, order, {}));
  BuildOptions options;
  options.quantize_bits = 8;
  const IndexReader quantized = Pipeline::open_index(pipeline.build(collection, order, options));
  CHECK_FALSE(plain.quantizer());
  CHECK(plain.find("everywhere")->impacts.empty());
  for (const char* section : {"impacts", "impact_start", "impact_width"}) {
    CHECK_FALSE(plain.container().has(section));
    CHECK(quantized.container().has(section));
  }
  CHECK(plain.container().manifest().find("quantize") == std::string::npos);
  // Except for the offsets of impacts, everything is equal with them.
  for (const SectionInfo& section : plain.container().sections()) {
    if (section.name == "manifest" || section.name.starts_with("lexicon")) continue;
    INFO(section.name);
    const ByteView with = quantized.container().view(section.name), without = plain.container().view(section.name);
    CHECK(std::equal(with.begin(), with.end(), without.begin(), without.end()));
  }
}

TEST_CASE("a corpus without words and one with only short lists can have quantized impacts", "[index][quantized]") {
  Pipeline pipeline;
  BuildOptions options;
  options.quantize_bits = 8;
  for (const std::string body : {"", "mill mill water"}) {
    const std::string corpus = "{\"id\":\"a\",\"contents\":\"" + body + "\"}\n";
    const CollectionReader collection(pipeline.parse(corpus));
    const IndexReader index = Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
    CHECK_NOTHROW(verify_index(index, pipeline.resources));
    CHECK(index.container().view("impact_start").empty());
    CHECK((index.quantizer()->top() > 0) == !body.empty());
    if (!body.empty()) {
      CHECK(impacts_of(index, *index.find("mill")) == std::vector<std::uint32_t>{255});
      CHECK(impacts_of(index, *index.find("water")).at(0) < 255);
    }
  }
}

TEST_CASE("other numbers of bits are refused", "[index][quantized]") {
  BuildOptions options;
  for (const unsigned bits : {1u, 3u, 17u, 32u}) {
    options.quantize_bits = bits;
    CHECK_THROWS_AS(check_build_options(options), InvalidArgument);
  }
  for (const unsigned bits : {0u, 4u, 16u}) {
    options.quantize_bits = bits;
    CHECK_NOTHROW(check_build_options(options));
  }
}

}  // namespace quern
