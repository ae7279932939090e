#include <algorithm>
#include <optional>

#include "quern/gpu/intersect/intersect_batch.hpp"
#include "quern/search/intersect.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/ranked_pages.hpp"

/// The contents of a batch of intersections for a GPU, checked without one.
namespace quern::gpu {
namespace {

using namespace testing;

/// An index of tiny blocks, in which "everywhere" and "often" are dense.
struct IntersectSubject {
  IntersectSubject() {
    index.emplace(corpus.index(blocks_of(8)));
    cpu.emplace(*index, all_intersection_methods().front(), IntersectionOptions{});
  }
  std::vector<PostingList> lists_of(const std::string& text) const {
    Intersection::WorkSpace space;
    REQUIRE(cpu->find_lists(cpu->reader().read(text), space));
    return space.lists;
  }

  IndexedCorpus corpus{83, {900, 150, 40, false}};
  std::optional<IndexReader> index;
  std::optional<Intersection> cpu;
};

constexpr std::uint64_t much = 1 << 20;

/// Checks that items of a batch lie in its space for results without overlapping.
void check_parts(const IntersectBatch& batch) {
  std::uint32_t items = 0;
  std::uint64_t end = 0;
  for (const IntersectQuery& query : batch.queries) {
    CHECK(query.first_item == items);
    CHECK(query.first_word >= end);
    REQUIRE(query.item_size > 0);
    const std::uint32_t next = &query == &batch.queries.back() ? batch.items : (&query + 1)->first_item;
    REQUIRE(next > items);
    const std::uint32_t df = batch.lists[batch.terms[query.first_term]].coded.df;
    if (query.bits == 0) CHECK(std::uint64_t{next - items} * query.item_size >= df);
    end = query.first_word + (query.bits == 0 ? df : std::uint64_t{next - items - 1} * query.item_size);
    items = next;
  }
  CHECK(items == batch.items);
  CHECK(end <= batch.result_words);
}

}  // namespace

TEST_CASE("a list is unpacked once, when queries have used it often enough", "[gpu_batch]") {
  const IntersectSubject subject;
  UnpackedLists unpacked(subject.index->num_documents(), much);
  const auto lists = subject.lists_of("often everywhere");
  for (const bool asked_before : {false, true, true}) {
    IntersectBatch batch(*subject.index, unpacked, Unpacking::frequent, {});
    REQUIRE(batch.add(lists));
    batch.finish();
    check_parts(batch);
    REQUIRE(batch.queries.size() == 1);
    CHECK(batch.queries.front().coded == (asked_before ? 0 : 1));
    CHECK(batch.queries.front().bits == (asked_before ? 1 : 0));
    CHECK(batch.coded_items == (asked_before ? 0 : batch.items));
  }
  CHECK(unpacked.state_of(lists.front().number).place.format == ListFormat::bits);
  unpacked.clear();
  CHECK(unpacked.state_of(lists.front().number).place.format == ListFormat::coded);
  CHECK(unpacked.state_of(lists.front().number).words == 0);
}

TEST_CASE("kernels get queries that decode lists first, and answers go to the right queries", "[gpu_batch]") {
  const IntersectSubject subject;
  UnpackedLists unpacked(subject.index->num_documents(), much);
  const auto dense = subject.lists_of("everywhere");
  ListState& state = unpacked.state_of(dense.front().number);
  CHECK_FALSE(UnpackedLists::count_use(state, dense.front().df, 2 * dense.front().df - 1));
  CHECK(UnpackedLists::count_use(state, dense.front().df, 1));
  IntersectBatch batch(*subject.index, unpacked, Unpacking::frequent, {});
  REQUIRE(batch.add(dense));
  REQUIRE(batch.add(subject.lists_of("often")));
  REQUIRE(batch.add(dense));
  batch.finish();
  check_parts(batch);
  CHECK(batch.places == std::vector<std::uint32_t>{1, 0, 2});
  CHECK(batch.coded_queries == 1);
  CHECK(batch.lists.size() == 2);
  CHECK(batch.unpack.size() == 1);
}

TEST_CASE("methods that need all lists unpacked refuse queries that don't fit the memory", "[gpu_batch]") {
  const IntersectSubject subject;
  const auto lists = subject.lists_of("often everywhere");
  const std::uint64_t all = lists[0].df + lists[1].df;
  for (const Unpacking unpacking : {Unpacking::documents, Unpacking::buckets}) {
    UnpackedLists small(subject.index->num_documents(), all / 2), large(subject.index->num_documents(), 4 * all);
    IntersectBatch too_much(*subject.index, small, unpacking, {}), fits(*subject.index, large, unpacking, {1, 0, 1});
    CHECK_FALSE(too_much.add(lists));
    CHECK(too_much.size() == 0);
    REQUIRE(fits.add(lists));
    fits.finish();
    check_parts(fits);
    CHECK(fits.items == 1);
    CHECK(fits.coded_queries == 0);
    CHECK(fits.unpack.size() == 2);
    CHECK((fits.unpack_entries > 0) == (unpacking == Unpacking::buckets));
    CHECK(fits.unpack_words <= 4 * all);
  }
}

TEST_CASE("GPU methods are found by name, and refuse transfers that they do not support", "[gpu_batch]") {
  for (const GpuIntersectionMethod& method : all_gpu_intersection_methods()) {
    CHECK(&gpu_intersection_method_named(method.name) == &method);
    GpuIntersectionOptions options;
    CHECK_NOTHROW(check_intersection_options(method, options));
    options.transfer = ResultTransfer::single;
    if (method.any_transfer)
      CHECK_NOTHROW(check_intersection_options(method, options));
    else
      CHECK_THROWS_AS(check_intersection_options(method, options), InvalidArgument);
  }
  CHECK_THROWS_WITH(gpu_intersection_method_named("galloping"), Catch::Contains("adaptive, block-skipping"));
}

}  // namespace quern::gpu
