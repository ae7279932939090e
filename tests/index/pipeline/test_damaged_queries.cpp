#include <cstring>

#include "quern/core/random.hpp"
#include "quern/index/exchange/interchange_format.hpp"

#include "catch.hpp"
#include "index/pipeline/index_sections.hpp"
#include "index/pipeline/ranked_pages.hpp"
#include "index/pipeline/use_index.hpp"
#include "index/pipeline/weighted_corpus.hpp"

/// Damaged indexes with recomputed checksums, and everything that reads them.
namespace quern {
namespace {

using namespace testing;

/// An index in the order of global scores, with all possible sections.
IndexReader index_of(RankedPages& pages, const Codec& codec) {
  BuildOptions options = blocks_of(64);
  options.codec = codec.name;
  options.quantize_bits = 8;
  return pages.index(pages.order(OrderBy::score, 0.3), 0.3, options);
}

/// Queries of two frequent terms and some rarer ones.
std::vector<std::string> queries_for(const IndexReader& index) {
  std::vector<std::string> queries = {"everywhere often", "everywhere", "often everywhere unknown"};
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      if (queries.size() < 5 && list.number % 97 == 3) queries.push_back("often everywhere " + std::string(term));
    });
  return queries;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

/// Changes a random bit of `bytes`, or sets a random 32-bit number to an extreme value.
void damage(Bytes& bytes, RandomBits& random) {
  constexpr std::uint32_t extremes[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x7fc00000, 0x7f800000};
  if (random.below(4) > 0 || bytes.size() < 4) {
    bytes[random.below(bytes.size())] ^= static_cast<std::uint8_t>(1u << random.below(8));
    return;
  }
  const std::uint32_t number = extremes[random.below(std::size(extremes))];
  std::memcpy(bytes.data() + random.below(bytes.size() / 4) * 4, &number, sizeof number);
}

/// An index of given weights.
IndexReader index_of_weights(Pipeline& pipeline, const Codec& codec, std::size_t documents) {
  const CollectionReader collection(
      parse_weights(pipeline, as_vector_jsonl(random_weights(29, documents, 60, 255)), {8}));
  BuildOptions options = blocks_of(64);
  options.codec = codec.name;
  return Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
}

/// Calls use(index) for indexes with a changed section, five times per section. It may throw library errors.
template <class Use>
void use_damaged(const IndexReader& sound, const Pipeline& pipeline, std::uint64_t seed, Use&& use) {
  IndexSections sections(sound.container());
  RandomBits random(seed);
  for (const SectionInfo& info : sound.container().sections()) {
    if (info.size == 0) continue;
    for (unsigned i = 0; i < 5; ++i) {
      Bytes& bytes = sections.section(info.name);
      const Bytes before = bytes;
      damage(bytes, random);
      INFO("section " << info.name << ", change " << i);
      REQUIRE_NOTHROW(allow_errors([&] { use(sections.open(pipeline)); }));
      bytes = before;
    }
  }
}

}  // namespace

TEST_CASE("Every use of an index with a damaged section answers or throws an error", "[index][query][damage]") {
  // Enough documents for several windows, and lists with many blocks.
  RankedPages pages(29, {1000, 300, 12, false});
  for (const Codec* codec : all_codecs()) {
    INFO(codec->name);
    const IndexReader sound = index_of(pages, *codec);
    const std::vector<std::string> texts = queries_for(sound);
    const auto queries = views_of(texts);
    const auto use = [&](const IndexReader& index) { use_index(index, queries, pages.pipeline.resources); };
    use(sound);
    use_damaged(sound, pages.pipeline, 31, use);
  }
}

TEST_CASE("Every use of an index of given weights with a damaged section answers or throws an error",
          "[index][query][impacts][damage]") {
  const std::vector<std::string_view> queries = {"everywhere ##often", "everywhere", "##often everywhere unknown",
                                                 "T1 everywhere T0"};
  for (const Codec* codec : all_codecs()) {
    INFO(codec->name);
    Pipeline pipeline;
    const IndexReader sound = index_of_weights(pipeline, *codec, 1000);
    const auto use = [&](const IndexReader& index) { use_index(index, queries, pipeline.resources); };
    use(sound);
    use_damaged(sound, pipeline, 31, use);
  }
}

TEST_CASE("An index with a damaged section is exported or refused with an error", "[index][interchange][damage]") {
  RankedPages pages(37, {150, 60, 30, false});
  Pipeline pipeline;
  const Codec& codec = *all_codecs().front();
  for (const InterchangeFormat& format : all_interchange_formats()) {
    const auto write = [&](const IndexReader& index) {
      format.write(index, pipeline.folder.path("exported"), true, pipeline.resources);
    };
    use_damaged(index_of(pages, codec), pages.pipeline, 41, write);
    use_damaged(index_of_weights(pipeline, codec, 150), pipeline, 41, write);
  }
}

}  // namespace quern
