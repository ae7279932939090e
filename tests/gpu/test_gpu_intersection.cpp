#include "quern/core/random.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/index_sections.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

/// Every GPU method finds the documents of the CPU's merge.
namespace quern {
namespace {

using namespace testing;
using Documents = std::vector<std::vector<docid_t>>;

struct Queries {
  explicit Queries(const std::vector<std::vector<std::string>>& terms) {
    std::vector<QueryTerms> read_terms;
    for (const auto& query : terms) {
      texts.push_back(text_of(query));
      read_terms.push_back(query_of(query));
    }
    read = ParsedQueries(std::move(read_terms));
  }
  std::vector<std::string> texts;
  ParsedQueries read;
};

Documents merged(const IndexReader& index, const Queries& queries) {
  const Intersection cpu(index, intersection_method_named("merge"), {});
  Documents documents;
  intersect_batch(cpu, queries.read.views(), 2,
                  [&](std::size_t, const IntersectionAnswer& answer) { documents.push_back(answer.documents); });
  return documents;
}

/// All combinations of options of a method.
std::vector<GpuIntersectionOptions> ways_of(const GpuIntersectionMethod& method) {
  std::vector<GpuIntersectionOptions> ways;
  for (const std::size_t batch : {std::size_t{7}, std::size_t{4096}})
    for (const bool bucketing : {false, true})
      for (const unsigned levels : {0u, 1u, 2u, 3u, 4u})
        for (const auto transfer :
             {gpu::ResultTransfer::packed, gpu::ResultTransfer::whole, gpu::ResultTransfer::single}) {
          if (!method.uses_levels && levels > 0) continue;
          if (!method.any_transfer && transfer != gpu::ResultTransfer::packed) continue;
          GpuIntersectionOptions& way = ways.emplace_back();
          way.batch_queries = batch;
          way.bucketing = bucketing;
          way.levels = levels;
          way.transfer = transfer;
        }
  return ways;
}

void check_run(GpuIntersection& gpu, const Queries& queries, const Documents& expected,
               GpuIntersectionStatistics& statistics) {
  Documents found(queries.read.size());
  std::size_t answers = 0, next = 0;
  gpu.run(
      queries.read.views(),
      [&](std::size_t i, std::span<const docid_t> documents) {
        if (!gpu.bucketing()) REQUIRE(i == next++);
        found[i].assign(documents.begin(), documents.end());
        ++answers;
      },
      &statistics);
  REQUIRE(answers == found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("query " << i << ": " << queries.texts[i]);
    REQUIRE(found[i] == expected[i]);
  }
}

/// Compares all methods with the CPU, twice each, so that lists are used repeatedly.
void check_methods(const IndexReader& index, const Queries& queries, std::uint64_t unpacked_bytes = 0) {
  const Documents expected = merged(index, queries);
  NoProgress progress;
  GpuIntersectionOptions first;
  first.unpacked_bytes = unpacked_bytes;
  GpuIntersection gpu(index, all_gpu_intersection_methods().front(), first, progress);
  for (const GpuIntersectionMethod& method : all_gpu_intersection_methods())
    for (const GpuIntersectionOptions& way : ways_of(method)) {
      INFO(method.name << ", batches of " << way.batch_queries << ", levels " << way.levels << ", transfer "
                       << static_cast<int>(*way.transfer) << (*way.bucketing ? ", by length" : ""));
      gpu.use(method, way);
      for (int i = 0; i < 2; ++i) {
        GpuIntersectionStatistics statistics;
        check_run(gpu, queries, expected, statistics);
        if (unpacked_bytes == 0) CHECK(statistics.on_cpu == 0);
      }
    }
}

/// The index with some bytes of a section changed.
IndexReader damaged(Pipeline& pipeline, const IndexReader& index, const std::string& section, std::uint64_t seed) {
  RandomBits random(seed);
  IndexSections sections(index.container());
  Bytes& bytes = sections.section(section);
  for (int i = 0; i < 6; ++i) bytes[random.below(bytes.size())] ^= static_cast<std::uint8_t>(1 + random.below(255));
  return sections.open(pipeline);
}

}  // namespace

TEST_CASE("the GPU intersects as the CPU does, over every coding", "[gpu][intersect][property]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(37, {3000, 200, 30, false});
  const Queries queries(draw_queries(3, corpus.model, 60));
  for (const BuildOptions& options : all_codings()) {
    INFO(coding_text(options));
    check_methods(corpus.index(options), queries);
  }
}

TEST_CASE("the GPU intersects as the CPU does, over blocks of 2 to 16 postings", "[gpu][intersect][property]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(43, {2000, 120, 14, false});
  const Queries queries(draw_queries(11, corpus.model, 60));
  for (const Codec* codec : all_codecs())
    for (const unsigned block_size : {2u, 4u, 16u}) {
      const BuildOptions options = coded(*codec, {block_size});
      INFO(coding_text(options));
      check_methods(corpus.index(options), queries);
    }
}

TEST_CASE("several GPUs find the documents that one finds, in the same order", "[gpu][intersect][property]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(83, {3000, 200, 30, false});
  const Queries queries(draw_queries(31, corpus.model, 200));
  const IndexReader index = corpus.index({});
  NoProgress progress;
  for (const GpuIntersectionMethod& method : all_gpu_intersection_methods()) {
    INFO(method.name);
    const auto answers_of = [&](unsigned gpus) {
      GpuIntersectionOptions options;
      options.gpus = gpus;
      options.batch_queries = 16;
      GpuIntersection gpu(index, method, options, progress);
      CHECK(gpu.gpus() == (gpus == 0 ? list_gpus().size() : gpus));
      std::vector<std::pair<std::size_t, std::vector<docid_t>>> answers;
      for (int i = 0; i < 2; ++i)
        gpu.run(queries.read.views(), [&](std::size_t query, std::span<const docid_t> documents) {
          answers.emplace_back(query, std::vector<docid_t>(documents.begin(), documents.end()));
        });
      return answers;
    };
    CHECK(answers_of(0) == answers_of(1));
  }
}

TEST_CASE("queries of 64 terms and more are intersected on the GPU", "[gpu][intersect]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(59, {1500, 120, 300, false});
  const std::vector<std::string> terms = corpus.terms(100);
  std::vector<std::vector<std::string>> queries;
  for (const std::size_t size : {31, 32, 33, 64, 65, 100}) queries.emplace_back(terms.begin(), terms.begin() + size);
  check_methods(corpus.index({}), Queries(queries));
}

TEST_CASE("if unpacked lists do not fit the GPU's memory, older ones are dropped, or the CPU answers",
          "[gpu][intersect][property]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(61, {4000, 150, 25, false});
  const Queries queries(draw_queries(29, corpus.model, 80));
  BuildOptions options;
  options.codec_options.block_size = 16;
  const IndexReader index = corpus.index(options);
  for (const std::uint64_t bytes : {2000, 12000, 40000, 80000}) {
    INFO(bytes << " bytes for unpacked lists");
    check_methods(index, queries, bytes);
  }
}

TEST_CASE("intersections of each coding stay within bounds", "[gpu][sanitize][intersect]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(73, {900, 80, 20, false});
  const Queries queries(draw_queries(17, corpus.model, 10));
  for (const Codec* codec : all_codecs()) {
    const BuildOptions options = coded(*codec, {64, 2});
    INFO(coding_text(options));
    check_methods(corpus.index(options), queries);
  }
}

TEST_CASE("intersections of a damaged index fail with an error or stay within bounds",
          "[gpu][sanitize][damage][intersect]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(79, {900, 60, 20, false});
  const Queries queries(draw_queries(23, corpus.model, 20));
  NoProgress progress;
  unsigned refused = 0;
  for (const Codec* codec : all_codecs()) {
    const BuildOptions options = coded(*codec, {16, 1});
    const IndexReader sound = corpus.index(options);
    for (const std::string section : {"postings", "block_last", "block_offset"})
      for (std::uint64_t seed = 0; seed < 2; ++seed)
        for (const GpuIntersectionMethod& method : all_gpu_intersection_methods()) {
          INFO(coding_text(options) << ", " << section << ", " << method.name);
          try {
            const IndexReader index = damaged(corpus.pipeline, sound, section, seed);
            GpuIntersection gpu(index, method, {}, progress);
            for (int i = 0; i < 2; ++i) gpu.run(queries.read.views(), [](std::size_t, std::span<const docid_t>) {});
          } catch (const CorruptFile&) {
            ++refused;
          }
        }
  }
  CHECK(refused > 0);
}

}  // namespace quern
