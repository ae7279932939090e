#include <filesystem>
#include <fstream>

#include "quern/codec/short_list.hpp"
#include "quern/core/random.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/order/order.hpp"

#include "catch.hpp"
#include "collection/small_collection.hpp"
#include "formats/container_writing.hpp"
#include "formats/small_plan.hpp"
#include "fuzz/container_fuzzing.hpp"

/// The seeds of the fuzzers of our own files are made of real ones. Old seeds would only show fuzzers the way to the
/// error "has another version": this test finds them. To make them anew: quern_tests "[.seeds]".
using namespace quern;
using quern::testing::Page;
using quern::testing::TemporaryFolder;

namespace {

std::string seed_path(const std::string& target, const std::string& name) {
  return std::string(QUERN_SOURCE_DIR) + "/tests/fuzz/seeds/" + target + "/" + name;
}

void write_seed(const std::string& target, const std::string& name, ByteView bytes) {
  const std::string path = seed_path(target, name);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << as_text(bytes);
}

/// Calls read(bytes) for each seed of a target.
template <class Read>
void for_each_seed(const std::string& target, Read&& read) {
  std::size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(seed_path(target, ""))) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    INFO(entry.path().string());
    read(as_bytes(bytes));
    ++seeds;
  }
  CHECK(seeds > 0);
}

/// Some words are in all pages, some in a few, most in one.
std::vector<Page> pages(std::size_t count) {
  RandomBits random(71);
  std::vector<Page> pages;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    Page page{"d" + number, "http://h" + std::to_string(i % 3) + ".example/" + number, "mill " + number, "flour"};
    for (std::uint64_t words = random.below(4); words > 0; --words)
      page.text += " s" + std::to_string(random.below(1 + random.below(count)));
    pages.push_back(std::move(page));
  }
  return pages;
}

struct Built {
  CollectionReader collection;
  ContainerReader order;
  ContainerReader index;
};

Built build(const TemporaryFolder& folder, std::size_t num_pages, const std::string& codec, bool scores,
            unsigned quantize_bits = 0) {
  CollectionReader collection = testing::collection_of(folder, pages(num_pages), 1500);
  const Resources resources = testing::small_resources(folder);
  OrderOptions order_options;
  order_options.by = OrderBy::random;
  DocumentOrder order = make_order(collection, order_options, {}, resources);
  if (scores) {
    order.pagerank.assign(num_pages, 0.5f);
    order.global_scores.assign(num_pages, 0.25f);
  }
  File order_file = File::anonymous(folder.path("")), index_file = File::anonymous(folder.path(""));
  write_order(order_file, order, order_options, collection);
  BuildOptions options;
  options.codec = codec;
  options.codec_options.block_size = 64;
  options.quantize_bits = quantize_bits;
  build_index(collection, order, order_options, options, resources, index_file);
  return {std::move(collection),
          ContainerReader(testing::shared(std::move(order_file)), FileKind::order, order_version),
          ContainerReader(testing::shared(std::move(index_file)), FileKind::index, index_version)};
}

}  // namespace

TEST_CASE("The seeds of the fuzzers are sound files of today's form", "[format][fuzz]") {
  for_each_seed("collection", [](ByteView seed) {
    const CollectionReader collection(
        fuzz::container_around(seed, FileKind::collection, collection_version, fuzz::collection_sections));
    CHECK(collection.num_documents() > 0);
    CHECK_NOTHROW(collection.verify_contents(default_resources()));
  });
  for_each_seed("order", [](ByteView seed) {
    const OrderReader order(
        ContainerReader(fuzz::container_around(seed, FileKind::order, order_version, fuzz::order_sections),
                        FileKind::order, order_version));
    CHECK(order.load().documents.size() > 1);
  });
  for_each_seed("index", [](ByteView seed) {
    const IndexReader index(
        ContainerReader(fuzz::container_around(seed, FileKind::index, index_version, fuzz::index_sections),
                        FileKind::index, index_version));
    CHECK_NOTHROW(verify_index(index, default_resources()));
  });
  for_each_seed("plan", [](ByteView seed) {
    const PlanReader plan(ContainerReader(
        fuzz::container_around(seed, FileKind::plan, plan_version, fuzz::plan_sections), FileKind::plan, plan_version));
    CHECK(plan.load().lists.size() == plan.manifest().lists);
  });
}

TEST_CASE("make the fuzzers' seeds", "[.seeds]") {
  const TemporaryFolder folder;
  const Built small = build(folder, 3, "newpfd", true);
  write_seed("collection", "small", fuzz::seed_of(small.collection.container(), fuzz::collection_sections));
  write_seed("order", "scores", fuzz::seed_of(small.order, fuzz::order_sections));
  write_seed("index", "small", fuzz::seed_of(small.index, fuzz::index_sections));
  Built planned = build(folder, 3, "newpfd", false);
  CachePlan plan = testing::small_plan(IndexReader(std::move(planned.index)));
  write_seed("plan", "two_lists",
             fuzz::seed_of(testing::plan_reader(folder.path(""), plan).container(), fuzz::plan_sections));
  plan.lists.clear();
  write_seed("plan", "no_lists",
             fuzz::seed_of(testing::plan_reader(folder.path(""), plan).container(), fuzz::plan_sections));
  write_seed("container", "order", testing::bytes_of(small.order.file()));
  write_seed("container", "collection", testing::bytes_of(small.collection.container().file()));
  for (const char* codec : {"newpfd", "rpfd", "rice"}) {
    const Built blocks = build(folder, 130, codec, false);
    write_seed("index", std::string("blocks_") + codec, fuzz::seed_of(blocks.index, fuzz::index_sections));
  }
  const Built impacts = build(folder, 80, "newpfd", false, 8);
  write_seed("index", "impacts", fuzz::seed_of(impacts.index, fuzz::index_sections));
  const Built chunks = build(folder, 40, "newpfd", false);
  write_seed("collection", "chunks", fuzz::seed_of(chunks.collection.container(), fuzz::collection_sections));
  write_seed("order", "plain", fuzz::seed_of(chunks.order, fuzz::order_sections));

  constexpr std::array<std::string_view, 2> dictionary = {"lexicon", "lexicon_blocks"};
  Bytes terms = {static_cast<std::uint8_t>(chunks.collection.manifest().terms)};
  const Bytes sections = fuzz::seed_of(chunks.collection.container(), dictionary);
  terms.insert(terms.end(), sections.begin(), sections.end());
  write_seed("term_dictionary", "words", terms);

  const std::vector<docid_t> docids = {3, 4, 10, 500, 99999};
  const std::vector<freq_t> freqs = {1, 1, 2, 70, UINT32_MAX};
  Bytes list = {static_cast<std::uint8_t>(docids.size() - 1)};
  put_le(list, docid_t{100000});
  put_short_list(docids, freqs, 100000, list);
  write_seed("short_list", "five_postings", list);
}
