#include <cstring>

#include "quern/core/random.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"
#include "quern/lab/gpu/decode_bench.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/index_sections.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

/// Damage in large sections, whose checksums aren't verified before queries run: kernels check every number before
/// using it as an index. compute-sanitizer runs these tests.
namespace quern {
namespace {

using namespace testing;

struct DamagedIndex {
  DamagedIndex(const Codec& codec, const CorpusShape& shape)
      : corpus(97, shape), sound(corpus.index(coded(codec, {64, 2}, 6))), sections(sound.container()) {
    for (const auto& terms : draw_queries(23, corpus.model, 10)) texts.push_back(text_of(terms));
    // Lists of several blocks.
    texts.insert(texts.end(), {"everywhere often", "everywhere", "often everywhere sometimes"});
  }

  IndexedCorpus corpus;
  IndexReader sound;
  IndexSections sections;
  std::vector<std::string> texts;
};

/// Runs all queries with all strategies and algorithms, in large and small batches. Any result is accepted, but no
/// crash. Returns how often damage was found.
int ask_all(const IndexReader& index, const std::vector<std::string>& texts, Scores scores) {
  const QueryEngine engine(index, with_scores(scores));
  NoProgress progress;
  GpuEngine gpu(engine, {}, progress);
  std::vector<std::string_view> many;
  for (unsigned i = 0; i < 3; ++i) many.insert(many.end(), texts.begin(), texts.end());
  int found = 0;
  for (const gpu::Strategy& strategy : gpu::all_strategies()) {
    for (const std::size_t batch : {many.size(), std::size_t{8}}) {
      gpu.set_batch_queries(batch);
      // Small batches of intersections read coded lists, and large ones decode them.
      gpu.set_strategy(strategy, {.decodes_always = batch != 8}, progress);
      for (const QueryAlgorithm& algorithm : all_algorithms()) {
        if (!gpu::answers(strategy, algorithm)) continue;
        try {
          search_texts(gpu, engine, many, algorithm, 10);
        } catch (const CorruptFile&) {
          ++found;
        }
      }
    }
  }
  return found;
}

/// Damages a few numbers of a section.
void damage(Bytes& section, std::size_t number_bytes, RandomBits& random) {
  const std::size_t numbers = section.size() / number_bytes;
  for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
    std::uint8_t* at = section.data() + number_bytes * random.below(numbers);
    if (random.below(2) == 0) {
      at[random.below(number_bytes)] ^= static_cast<std::uint8_t>(1u << random.below(8));
    } else {
      for (std::size_t i = 0; i < number_bytes; ++i) at[i] = static_cast<std::uint8_t>(random.below(256));
    }
  }
}

/// Damages each section that kernels read, `times` times. Returns how often damage was found.
int damage_all(DamagedIndex& subject, unsigned times) {
  int found = 0;
  RandomBits random(101);
  NoProgress progress;
  for (const char* name : {"postings", "block_last", "block_offset", "block_max", "impacts"}) {
    Bytes& section = subject.sections.section(name);
    const Bytes before = section;
    for (unsigned i = 0; i < times; ++i) {
      INFO(name << ", damage " << i);
      damage(section, std::strcmp(name, "block_max") == 0 ? sizeof(std::uint16_t) : sizeof(std::uint32_t), random);
      try {
        const IndexReader index = subject.sections.open(subject.corpus.pipeline);
        found += ask_all(index, subject.texts,
                         std::strcmp(name, "impacts") == 0 || i % 2 == 1 ? Scores::quantized : Scores::exact);
        gpu::DecodeBenchOptions options;
        options.groups = {{65, 0}};
        options.repeats = 1;
        gpu::measure_decoding(index, options, progress);
      } catch (const CorruptFile&) {
        ++found;
      }
      section = before;
    }
  }
  return found;
}

}  // namespace

TEST_CASE("queries over damaged lists report the damage or stay within bounds", "[gpu][sanitize][damage]") {
  SKIP_WITHOUT_GPU();
  for (const Codec* codec : all_codecs()) {
    INFO(codec->name);
    DamagedIndex subject(*codec, {700, 60, 20, false});
    CHECK(damage_all(subject, 8) > 0);
  }
}

TEST_CASE("after damaged lists, an engine still answers queries with undamaged lists", "[gpu]") {
  SKIP_WITHOUT_GPU();
  DamagedIndex subject(codec_named("newpfd"), {3000, 60, 20, false});
  // All blocks of the longest list except the first.
  const auto list = subject.sound.find("everywhere");
  REQUIRE(list);
  REQUIRE(list->block_offset.size() > 2);
  Bytes& postings = subject.sections.section("postings");
  const std::size_t begin = 4 * (list->first_word + list->block_offset[1]);
  std::memset(postings.data() + begin, 0xff, 4 * list->words.size() - 4 * list->block_offset[1]);
  const IndexReader damaged = subject.sections.open(subject.corpus.pipeline);
  const QueryEngine engine(damaged, {});
  NoProgress progress;
  GpuEngine gpu(engine, {.batch_queries = 3}, progress);
  Analyzer analyzer = engine.make_analyzer();
  for (unsigned i = 0; i < 3; ++i) {
    const std::vector<std::string_view> with_damage(20, "everywhere often");
    CHECK_THROWS_AS(search_texts(gpu, engine, with_damage, algorithm_named("or"), 10), CorruptFile);
    const std::vector<std::string_view> sound(20, "often");
    for (const auto& answer : search_texts(gpu, engine, sound, algorithm_named("or"), 10))
      require_same(answer, engine.search(terms_of_text("often", analyzer), algorithm_named("or"), 10));
  }
}

}  // namespace quern
