#include <cstdlib>
#include <new>

#include "quern/search/query_engine.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/random_corpus.hpp"

/// Inner loops don't allocate: a query's allocations depend on its terms and k, not on the length of its lists.

// Sanitizers define their own operators.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

thread_local std::size_t allocations = 0;

void* allocate(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace quern {
namespace {

using namespace testing;

/// An index of `documents` documents in the folder of `pipeline`; its longer lists have several blocks.
IndexReader index_of(Pipeline& pipeline, std::size_t documents) {
  const CollectionReader collection(pipeline.parse(as_jsonl(random_corpus(67, {documents, 40, 30, false}))));
  BuildOptions options;
  options.codec_options.block_size = 64;
  options.quantize_bits = 8;
  return Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
}

std::size_t allocations_of(const IndexReader& index, Scores scores, const QueryAlgorithm& algorithm) {
  const QueryEngine engine(index, {{}, Idf::lucene, scores});
  Analyzer analyzer = engine.make_analyzer();
  const std::string_view text = "everywhere often w0 w1 w2 w3";
  engine.search(terms_of_text(text, analyzer), algorithm, 10);
  const std::size_t before = allocations;
  engine.search(terms_of_text(text, analyzer), algorithm, 10);
  return allocations - before;
}

}  // namespace

TEST_CASE("a query over lists ten times as long allocates no more often", "[query]") {
  Pipeline small, large;
  const IndexReader short_lists = index_of(small, 600), long_lists = index_of(large, 6000);
  REQUIRE(long_lists.find("w0")->df > 5 * short_lists.find("w0")->df);
  for (const Scores scores : {Scores::exact, Scores::quantized}) {
    std::size_t most = 0;
    for (const QueryAlgorithm& algorithm : all_algorithms())
      most = std::max(most, allocations_of(short_lists, scores, algorithm));
    for (const QueryAlgorithm& algorithm : all_algorithms()) {
      INFO(algorithm.name << (scores == Scores::exact ? ", exact" : ", quantized"));
      const std::size_t few = allocations_of(short_lists, scores, algorithm);
      CHECK(few > 0);
      // These two may choose another union for longer lists.
      const bool chooses = algorithm.name == "auto" || algorithm.name == "and-or";
      CHECK(allocations_of(long_lists, scores, algorithm) <= (chooses ? most : few));
    }
  }
}

}  // namespace quern

#endif
