#include "quern/core/random.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/random_plan.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "index/pipeline/index_sections.hpp"
#include "index/pipeline/query_checks.hpp"
#include "search/read_queries.hpp"

/// Every intersection method gives the CPU's results when the GPU's memory is so small that batches run in windows of
/// documents.
namespace quern {
namespace {

using namespace testing;

/// Queries and the documents that the CPU finds.
struct WindowedQueries {
  WindowedQueries(const IndexReader& index, const std::vector<std::vector<std::string>>& queries)
      : texts(texts_of_queries(queries)) {
    const Intersection cpu(index, all_intersection_methods().front(), {});
    read = read_all(cpu, texts);
    Intersection::WorkSpace space;
    for (const QueryView query : read.views()) {
      IntersectionAnswer answer;
      cpu.answer(query, space, answer);
      documents.push_back(answer.documents);
    }
  }
  std::vector<std::string> texts;
  ParsedQueries read;
  std::vector<std::vector<docid_t>> documents;
};

/// Runs all queries twice, so that batches find data of earlier ones. Returns the counters.
GpuIntersectionStatistics check_twice(const IndexReader& index, const WindowedQueries& queries,
                                      const GpuIntersectionMethod& method, const GpuIntersectionOptions& options) {
  NoProgress progress;
  GpuIntersection gpu(index, method, options, progress);
  GpuIntersectionStatistics all;
  for (unsigned turn = 0; turn < 2; ++turn) {
    GpuIntersectionStatistics statistics;
    std::size_t answers = 0;
    gpu.run(
        queries.read.views(),
        [&](std::size_t i, std::span<const docid_t> documents) {
          ++answers;
          INFO("turn " << turn << ", query " << queries.texts[i]);
          const bool same = std::vector<docid_t>(documents.begin(), documents.end()) == queries.documents[i];
          REQUIRE(same);
        },
        &statistics);
    REQUIRE(answers == queries.texts.size());
    all += statistics;
  }
  return all;
}

/// Coded words of a query's lists, or of all lists if it has no terms; 0 if a term has no list in blocks.
std::uint64_t coded_words(const IndexReader& index, const std::vector<std::string>& query) {
  std::uint64_t words = 0;
  if (query.empty()) return index.container().array<std::uint32_t>("postings").size();
  for (const std::string& term : query) {
    const auto list = index.find(term);
    if (!list || list->block_last.empty()) return 0;
    words += list->words.size();
  }
  return words;
}

/// Eight ranges of documents.
constexpr CorpusShape eight_ranges{120000, 150, 9, false};

}  // namespace

TEST_CASE("GPUs intersect by windows of documents as the CPU does", "[gpu][gpu_store][intersect][property]") {
  SKIP_WITHOUT_GPU();
  RandomBits random(89);
  IndexedCorpus corpus(89, eight_ranges);
  const auto terms = draw_queries(7, corpus.model, 80);
  for (const Codec* codec : all_codecs()) {
    const IndexReader index = corpus.index(coded(*codec, {64, 2}));
    const WindowedQueries queries(index, terms);
    const CachePlan plan = random_plan(index, random);
    for (const GpuIntersectionMethod& method : all_gpu_intersection_methods())
      for (const gpu::ListTransfers transfers : {gpu::ListTransfers::staged, gpu::ListTransfers::direct})
        for (const bool planned : {false, true})
          for (const std::size_t batch : {std::size_t{7}, std::size_t{4096}}) {
            INFO(codec->name << ", " << method.name << ", transfers " << name_of_value(gpu::list_transfers, transfers)
                             << ", plan " << planned << ", batches of " << batch);
            GpuIntersectionOptions options;
            options.batch_queries = batch;
            options.memory.list_share = planned ? 0.5 : 0.3;
            options.memory.transfers = transfers;
            if (planned) options.memory.plan = &plan;
            const GpuIntersectionStatistics all = check_twice(index, queries, method, options);
            CHECK(all.on_cpu == 0);
            if (batch == 4096) CHECK(all.windows > 2);
            if (batch == 4096) CHECK(all.batches == 2);
          }
  }
}

TEST_CASE("GPUs intersect by windows if unpacked lists leave no space", "[gpu][gpu_store][intersect]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(97, eight_ranges);
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}));
  const WindowedQueries queries(index, draw_queries(9, corpus.model, 80));
  for (const GpuIntersectionMethod& method : all_gpu_intersection_methods())
    for (const auto transfer : {gpu::ResultTransfer::packed, gpu::ResultTransfer::whole, gpu::ResultTransfer::single}) {
      if (!method.any_transfer && transfer != gpu::ResultTransfer::packed) continue;
      INFO(method.name << ", transfer " << static_cast<int>(transfer));
      GpuIntersectionOptions options;
      options.transfer = transfer;
      options.memory.list_share = 0.4;
      options.unpacked_bytes = 1 << 20;
      const GpuIntersectionStatistics all = check_twice(index, queries, method, options);
      CHECK(all.on_cpu == 0);
      CHECK(all.windows > 2);
      CHECK((all.unpacked.postings > 0) == method.any_transfer);
    }
}

TEST_CASE("adaptive intersection unpacks lists between batches that run by windows", "[gpu][gpu_store][intersect]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(101, eight_ranges);
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}));
  const auto terms = draw_queries(11, corpus.model, 80);
  // Queries of few words, which fit and become unpacked, before and after others.
  std::vector<std::vector<std::string>> small, mixed;
  for (const auto& query : terms) {
    const std::uint64_t words = coded_words(index, query);
    if (words > 0 && words * 20 < coded_words(index, {})) small.push_back(query);
  }
  REQUIRE(small.size() >= 3);
  for (unsigned turn = 0; turn < 3; ++turn) {
    for (unsigned i = 0; i < 40; ++i) mixed.push_back(small[turn]);
    mixed.insert(mixed.end(), terms.begin(), terms.begin() + 40);
  }
  const WindowedQueries queries(index, mixed);
  GpuIntersectionOptions options;
  options.batch_queries = 40;
  options.memory.list_share = 0.6;
  const GpuIntersectionStatistics all = check_twice(index, queries, all_gpu_intersection_methods().front(), options);
  CHECK(all.windows > 2);
  CHECK(all.unpacked.lists > 0);
}

TEST_CASE("intersections by windows of a damaged index fail with an error or stay within bounds",
          "[gpu][gpu_store][sanitize][damage][intersect]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(103, {40000, 60, 9, false});
  const IndexReader sound = corpus.index(coded(*all_codecs().front(), {64, 1}));
  const WindowedQueries queries(sound, draw_queries(23, corpus.model, 30));
  NoProgress progress;
  RandomBits random(103);
  unsigned refused = 0;
  for (const std::string section : {"postings", "block_last", "block_offset"})
    for (const GpuIntersectionMethod& method : all_gpu_intersection_methods()) {
      INFO(section << ", " << method.name);
      IndexSections sections(sound.container());
      Bytes& bytes = sections.section(section);
      for (int i = 0; i < 6; ++i) bytes[random.below(bytes.size())] ^= static_cast<std::uint8_t>(1 + random.below(255));
      try {
        const IndexReader index = sections.open(corpus.pipeline);
        GpuIntersectionOptions options;
        options.memory.list_share = 0.8;
        GpuIntersection gpu(index, method, options, progress);
        gpu.run(queries.read.views(), [](std::size_t, std::span<const docid_t>) {});
      } catch (const CorruptFile&) {
        ++refused;
      }
    }
  CHECK(refused > 0);
}

}  // namespace quern
