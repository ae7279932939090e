#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/worker/fronts.hpp"
#include "quern/gpu/worker/query_batch.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"

/// Queries that end on fronts of lists.
namespace quern {
namespace {

using namespace testing;

std::vector<WeightedList> lists_of(const QueryEngine& engine, const std::vector<std::string>& terms, bool& all_found) {
  Analyzer analyzer = engine.make_analyzer();
  return engine.lists_of(terms_of_text(text_of(terms), analyzer), all_found);
}

/// Space for all lists of a query, and fronts of some.
gpu::ListCache cache_with_fronts(const QueryEngine& engine, std::span<const WeightedList> lists,
                                 std::span<const std::uint64_t> blocks) {
  gpu::ListCacheOptions options;
  options.block_size = engine.index().block_size();
  for (const WeightedList& list : lists) options.words += 4 * list.list.words.size();
  gpu::ListCache cache(options);
  gpu::ListCopies copies;
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (blocks[i] > 0) REQUIRE(cache.keep_front(lists[i].list, blocks[i], copies));
  return cache;
}

gpu::QueryEnd end_with(const QueryEngine& engine, const std::vector<WeightedList>& lists,
                       std::span<const std::uint64_t> blocks) {
  const gpu::ListCache cache = cache_with_fronts(engine, lists, blocks);
  gpu::QueryBatch batch(engine, cache);
  batch.add(std::vector<gpu::UnbatchedQuery>{{lists}}, {.intersect = true});
  return gpu::end_of_query(batch, 0, lists);
}

}  // namespace

TEST_CASE("a batch of fronts has the figures of shorter lists, and their order and weights", "[gpu_store][gpu_batch]") {
  IndexedCorpus corpus(5, {400, 30, 16, false});
  const IndexReader index = corpus.index(blocks_of(8));
  const QueryEngine engine(index, {});
  bool all_found = false;
  std::vector<WeightedList> lists;
  for (const std::string& term : corpus.terms(30))
    if (lists.size() < 3) lists = lists_of(engine, {"often", "everywhere", term}, all_found);
  REQUIRE(lists.size() == 3);
  const std::uint64_t blocks[] = {0, 3, 5};
  const gpu::ListCache cache = cache_with_fronts(engine, lists, blocks);
  gpu::QueryBatch whole(engine), cut(engine, cache);
  const std::vector<gpu::UnbatchedQuery> twice{{lists}, {lists}};
  whole.add(twice, {.intersect = true});
  cut.add(twice, {.intersect = true});
  REQUIRE(cut.fronts()->counts().cut_lists == 2);
  CHECK(whole.fronts() == nullptr);
  std::uint64_t cut_words = 0;
  for (std::size_t i = 1; i < 3; ++i) cut_words += lists[i].list.words.size() - lists[i].list.block_offset[blocks[i]];
  CHECK(cut.fronts()->counts().cut_bytes == 4 * cut_words);
  CHECK(cut.lists[1].df == 24);
  CHECK(cut.lists[1].rows == 3);
  CHECK(cut.lists[2].rows == 5);
  CHECK(cut.entries == (whole.lists[0].df + 3) / 4 * 4 + 24 + 40);
  CHECK(cut.queries[1].first_task == whole.queries[1].first_task);
  for (std::size_t t = 0; t < 6; ++t) {
    CHECK(cut.terms[t].list == whole.terms[t].list);
    CHECK(cut.terms[t].weight == whole.terms[t].weight);
    CHECK(cut.terms[t].unit_weight == whole.terms[t].unit_weight);
  }
}

TEST_CASE("the CPU resumes a query at the end of the first front if all lists continue there", "[gpu_store]") {
  IndexedCorpus corpus(7, {400, 30, 16, false});
  const IndexReader index = corpus.index(blocks_of(8));
  const QueryEngine engine(index, {});
  bool all_found = false;
  const auto lists = lists_of(engine, {"often", "everywhere"}, all_found);
  const auto &often = lists[0].list, &everywhere = lists[1].list;
  REQUIRE(often.block_last.size() > 6);
  const auto end_of = [&](std::uint64_t often_blocks, std::uint64_t everywhere_blocks) {
    const std::uint64_t blocks[] = {often_blocks, everywhere_blocks};
    return end_with(engine, lists, blocks);
  };
  CHECK_FALSE(end_of(0, 0).on_front);
  CHECK(end_of(0, 0).from_cpu == end_docid);
  CHECK(end_of(2, 0).on_front);
  CHECK(end_of(2, 0).from_cpu == often.block_last[1] + 1);
  CHECK(end_of(0, 4).from_cpu == everywhere.block_last[3] + 1);
  CHECK(end_of(3, 5).from_cpu == std::min(often.block_last[2], everywhere.block_last[4]) + 1);
  CHECK(end_of(often.block_last.size(), 5).from_cpu == everywhere.block_last[4] + 1);
  CHECK_FALSE(end_of(often.block_last.size(), everywhere.block_last.size()).on_front);
}

TEST_CASE("a query is complete if its shortest list ends before the first front does", "[gpu_store]") {
  IndexedCorpus corpus(9, {400, 300, 16, false});
  const IndexReader index = corpus.index(blocks_of(8));
  const QueryEngine engine(index, {});
  unsigned complete = 0, left = 0, ended_together = 0;
  for (const std::string& term : corpus.terms(300)) {
    bool all_found = false;
    const auto lists = lists_of(engine, {term, "everywhere"}, all_found);
    if (!all_found || lists.size() < 2) continue;
    const auto& everywhere = lists[1].list;
    BlockReader shortest(index, lists[0].list);
    shortest.load(shortest.num_blocks() - 1);
    const docid_t last_of_all = shortest.docids().back();
    for (std::uint64_t front = 1; front < everywhere.block_last.size(); front += 3) {
      const std::uint64_t blocks[] = {0, front};
      const docid_t last = everywhere.block_last[front - 1];
      const gpu::QueryEnd end = end_with(engine, lists, blocks);
      INFO(term << ", " << front << " blocks");
      CHECK(end.on_front);
      CHECK(end.from_cpu == (last_of_all <= last ? end_docid : last + 1));
      ++(end.from_cpu == end_docid ? complete : left);
      ended_together += last_of_all == last;
    }
  }
  CHECK(ended_together > 0);
  CHECK(complete > 5);
  CHECK(left > 5);
}

TEST_CASE("queries end on fronts if there is a plan, and the options or global scores allow it", "[gpu_store]") {
  RankedPages pages(89, {60, 40, 14, false});
  const IndexReader index = pages.index(pages.order(OrderBy::score, 0.3), 0.3, blocks_of(8));
  const QueryEngine early(index, with_pagerank(0.3)), late(index, with_pagerank(0.3, false));
  const CachePlan plan;
  gpu::GpuMemoryOptions memory;
  for (const auto& tails : gpu::list_tails) {
    memory.tails = tails.value;
    memory.plan = nullptr;
    CHECK_FALSE(gpu::ends_on_fronts(memory, early));
    memory.plan = &plan;
    CHECK(gpu::ends_on_fronts(memory, early) == (tails.value != gpu::ListTails::copy));
    CHECK(gpu::ends_on_fronts(memory, late) == (tails.value == gpu::ListTails::cpu));
  }
}

}  // namespace quern
