#include <filesystem>
#include <fstream>

#include "quern/codec/short_list.hpp"
#include "quern/core/random.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/order/order.hpp"

#include "catch.hpp"
#include "corpus/small_collection.hpp"
#include "formats/container_writing.hpp"
#include "formats/small_plan.hpp"
#include "fuzz/collection_fuzzing.hpp"
#include "fuzz/container_fuzzing.hpp"
#include "index/forward/indexed_site.hpp"
#include "index/pipeline/weighted_corpus.hpp"
#include "index/shards/split_corpus.hpp"

/// The fuzz seeds for our own formats are built from real files. This test finds outdated seeds, which would lead
/// fuzzers only to the error for other versions. To recreate them: quern_tests "[.seeds]".
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

/// Pages with some words in all of them, some in a few, and most in one.
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

/// Pages that link to each other; the second is large.
constexpr std::string_view linked_pages =
    "<DOC>\n<DOCNO>a</DOCNO>\n<DOCHDR>\nhttp://h.example/a\n</DOCHDR>\n"
    "<title>Mill</title>mill <a href=\"b\">flour</a>\n</DOC>\n"
    "<DOC>\n<DOCNO>b</DOCNO>\n<DOCHDR>\nhttp://h.example/b\n</DOCHDR>\n"
    "one two three four five six seven eight nine ten mill mill <a href=\"a\">back</a> <a href=\"c\">on</a>\n</DOC>\n"
    "<DOC>\n<DOCNO>c</DOCNO>\n<DOCHDR>\nhttp://i.example/\n</DOCHDR>\n<p>flour.</p>\n</DOC>\n";

struct Built {
  CollectionReader collection;
  ContainerReader order;
  ContainerReader index;
};

Built build(const TemporaryFolder& folder, std::size_t num_pages, const std::string& codec, bool scores,
            unsigned quantize_bits = 0, OrderBy by = OrderBy::random) {
  CollectionReader collection = testing::collection_of(folder, pages(num_pages), 1500);
  const Resources resources = testing::small_resources(folder);
  OrderOptions order_options;
  order_options.by = by;
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
  return {std::move(collection), ContainerReader(testing::shared(std::move(order_file)), FileKind::order),
          ContainerReader(testing::shared(std::move(index_file)), FileKind::index)};
}

/// A stage's two choices, the size of an order, the order, and a collection.
Bytes build_seed(std::uint8_t order_choice, std::uint8_t build_choice, const Bytes& order,
                 const CollectionReader& collection) {
  Bytes seed = {order_choice, build_choice};
  put_le(seed, static_cast<std::uint16_t>(order.size()));
  for (const Bytes& part : {order, fuzz::parts_of_collection(collection)})
    seed.insert(seed.end(), part.begin(), part.end());
  return seed;
}

void write_build_seeds(const TemporaryFolder& folder, const Built& small) {
  const Bytes order = fuzz::seed_of(small.order, fuzz::order_sections);
  write_seed("build", "order_file", build_seed(0, 0, order, small.collection));
  for (std::uint8_t by = 0; by < all_orders().size(); ++by)
    write_seed("build", "order_" + std::string(all_orders()[by].name()),
               build_seed(by, static_cast<std::uint8_t>(0x40 * (by % 2) + by), {}, small.collection));
  // Pages with links; one is split over chunks.
  ParseOptions options;
  options.corpus = {folder.write("linked.trecweb", linked_pages)};
  options.chunk_limits = {.terms = 3, .bytes = 64};
  const Resources resources = testing::small_resources(folder);
  File file = File::anonymous(folder.path(""));
  parse_corpus(options, resources, file);
  write_seed("build", "split_and_linked", build_seed(2, 1, {}, CollectionReader(testing::shared(std::move(file)))));
}

/// Seeds for the target's own index.
void write_simulate_seeds() {
  constexpr std::array<std::string_view, 5> sections = {"terms", "blocks", "bytes", "manifest", "log"};
  constexpr std::string_view log = "mill flour\nflour s1 s2\ns3\nmill unknown\n\nflour mill mill";
  const TemporaryFolder folder;
  CachePlan plan;
  plan.manifest.policy = "vfb";
  plan.manifest.budget_bytes = 1000;
  plan.lists = {{1, 1, 8}, {3, 1, 16}};
  for (const char* scorer : {"bm25", "bm25+pagerank"}) {
    plan.manifest.scorer = scorer;
    testing::Sections with_log = testing::sections_of(testing::plan_reader(folder.path(""), plan).container());
    with_log.emplace_back("log", Bytes(log.begin(), log.end()));
    File file = testing::container_file(folder.path(""), FileKind::plan, with_log);
    const ContainerReader container(testing::shared(std::move(file)), FileKind::plan);
    write_seed("simulate", scorer, fuzz::seed_of(container, sections));
  }
}

/// Small corpora in all formats, each after a choice of options.
void write_corpus_seeds() {
  std::uint8_t choice = 0;
  for (const CorpusFormat* format : all_corpus_formats()) {
    for_each_seed(std::string(format->name), [&](ByteView corpus) {
      Bytes seed = {static_cast<std::uint8_t>(16 * choice + 7), choice, choice};
      seed.insert(seed.end(), corpus.begin(), corpus.end());
      write_seed("corpus", std::string(format->name) + std::to_string(choice++), seed);
    });
  }
}

}  // namespace

TEST_CASE("The fuzzers' seeds are valid files of the current formats", "[format][fuzz]") {
  for_each_seed("collection", [](ByteView seed) {
    const CollectionReader collection = fuzz::collection_around(seed);
    CHECK(collection.num_documents() > 0);
    CHECK_NOTHROW(collection.verify_contents(default_resources()));
  });
  for_each_seed("order", [](ByteView seed) {
    const OrderReader order(
        ContainerReader(fuzz::container_around(seed, FileKind::order, fuzz::order_sections), FileKind::order));
    CHECK(order.load().documents.size() > 1);
  });
  for_each_seed("index", [](ByteView seed) {
    const IndexReader index = fuzz::index_around(seed);
    CHECK_NOTHROW(verify_index(index, default_resources()));
  });
  for_each_seed("texts", [](ByteView seed) {
    const TextsReader texts(
        ContainerReader(fuzz::container_around(seed, FileKind::texts, fuzz::texts_sections), FileKind::texts));
    CHECK(texts.num_documents() > 0);
    CHECK_NOTHROW(texts.verify_contents(default_resources()));
  });
  for_each_seed("fields", [](ByteView seed) {
    const FieldsReader fields(
        ContainerReader(fuzz::container_around(seed, FileKind::fields, fuzz::fields_sections), FileKind::fields));
    CHECK(fields.num_documents() > 0);
    CHECK_NOTHROW(fields.verify_contents(default_resources()));
  });
  for_each_seed("statistics", [](ByteView seed) {
    const StatisticsReader statistics(ContainerReader(
        fuzz::container_around(seed, FileKind::statistics, fuzz::statistics_sections), FileKind::statistics));
    CHECK(statistics.manifest().collection.documents > 0);
    CHECK_NOTHROW(statistics.verify_contents());
  });
  for_each_seed("scales", [](ByteView seed) {
    const Scales scales = read_scales(
        ContainerReader(fuzz::container_around(seed, FileKind::scales, fuzz::scales_sections), FileKind::scales));
    CHECK(scales.top > 0);
  });
  for_each_seed("forward", [](ByteView seed) {
    const ForwardReader forward(
        ContainerReader(fuzz::container_around(seed, FileKind::forward, fuzz::forward_sections), FileKind::forward));
    CHECK(forward.num_documents() > 0);
    for (docid_t docid = 0; docid < forward.num_documents(); ++docid)
      CHECK_NOTHROW(forward.for_each_segment(docid, [](const ForwardSegment&) {}));
  });
  for_each_seed("plan", [](ByteView seed) {
    const PlanReader plan(
        ContainerReader(fuzz::container_around(seed, FileKind::plan, fuzz::plan_sections), FileKind::plan));
    CHECK(plan.load().lists.size() == plan.manifest().lists);
  });
}

namespace {

/// A collection with texts, some of split documents, and the texts of an index: groups, and one in parts.
void write_texts_seeds() {
  const TemporaryFolder folder;
  ParseOptions options;
  options.corpus = {folder.write("corpus", std::string(linked_pages))};
  options.chunk_limits = {.terms = 1000, .bytes = 64};
  options.store_text = true;
  const Resources resources = testing::small_resources(folder);
  File collection_file = File::anonymous(folder.path("")), file = File::anonymous(folder.path(""));
  parse_corpus(options, resources, collection_file);
  const CollectionReader collection(testing::shared(std::move(collection_file)));
  write_seed("collection", "texts", fuzz::seed_of(collection.container(), fuzz::collection_sections));
  TextsWriter writer(file, folder.path(""));
  for (const std::size_t size : {0, 10, 200'000, 40'000, 40'000, 3}) {
    writer.add(std::string(size, 'a') + "\n");
    writer.end_document();
  }
  writer.finish("0123456789abcdef");
  write_seed("texts", "groups_and_parts",
             fuzz::seed_of(ContainerReader(testing::shared(std::move(file)), FileKind::texts), fuzz::texts_sections));
}

/// A collection that keeps fields, and the fields of an index: two groups of documents.
void write_fields_seeds() {
  const TemporaryFolder folder;
  ParseOptions options;
  options.corpus = {folder.write("corpus",
                                 "{\"id\":1,\"text\":\"mill\",\"lang\":\"en\",\"year\":1850}\n"
                                 "{\"id\":2,\"text\":\"mill\",\"lang\":true}\n")};
  options.reader.field_names.kept = {"lang", "year"};
  File collection_file = File::anonymous(folder.path("")), file = File::anonymous(folder.path(""));
  parse_corpus(options, testing::small_resources(folder), collection_file);
  const CollectionReader collection(testing::shared(std::move(collection_file)));
  write_seed("collection", "fields", fuzz::seed_of(collection.container(), fuzz::collection_sections));
  FieldsWriter writer(file, folder.path(""), {"lang", "year"});
  for (docid_t docid = 0; docid < fields_per_frame + 2; ++docid) {
    Bytes values;
    put_field_value(values, {FieldValue::Kind::text, 0, docid % 2 == 0 ? "en" : "de"});
    put_field_value(values, {docid % 3 == 0 ? FieldValue::Kind::number : FieldValue::Kind::none, 1.5 * docid, {}});
    writer.add(values);
  }
  writer.finish("0123456789abcdef");
  write_seed("fields", "two_groups",
             fuzz::seed_of(ContainerReader(testing::shared(std::move(file)), FileKind::fields), fuzz::fields_sections));
}

/// Forward files of linked pages, in one chunk and split over several.
void write_forward_seeds() {
  const TemporaryFolder folder;
  const Resources resources = testing::small_resources(folder);
  for (const bool split : {false, true}) {
    ParseOptions options;
    options.corpus = {folder.write("corpus", std::string(linked_pages))};
    if (split) options.chunk_limits = {.terms = 3, .bytes = 64};
    File collection_file = File::anonymous(folder.path("")), file = File::anonymous(folder.path(""));
    parse_corpus(options, resources, collection_file);
    const CollectionReader collection(testing::shared(std::move(collection_file)));
    const DocumentOrder order = make_order(collection, {}, {}, resources);
    build_forward(collection, {order.documents, "0123456789abcdef"}, resources, file);
    write_seed(
        "forward", split ? "split" : "linked",
        fuzz::seed_of(ContainerReader(testing::shared(std::move(file)), FileKind::forward), fuzz::forward_sections));
  }
}

/// An index with its forward file, as a whole and as its only shard.
void write_shards_seeds() {
  const std::string pages(linked_pages);
  const testing::SplitCorpus corpus(pages, {pages}, {.terms = 3, .bytes = 64});
  const DocumentOrder order = corpus.pipeline.order(corpus.joined);
  const auto write = [](const std::string& name, const IndexReader& index, const testing::StageFile& forward) {
    const Bytes index_seed = fuzz::seed_of(index.container(), fuzz::index_sections);
    const Bytes forward_seed = fuzz::seed_of(ContainerReader(forward, FileKind::forward), fuzz::forward_sections);
    Bytes seed;
    put_le(seed, static_cast<std::uint32_t>(index_seed.size()));
    for (const Bytes& part : {index_seed, forward_seed}) seed.insert(seed.end(), part.begin(), part.end());
    write_seed("shards", name, seed);
  };
  testing::Pipeline pipeline;
  const testing::IndexedSite site = testing::index_site(pipeline, corpus.joined, order);
  write("whole", testing::Pipeline::open_index(site.index), site.forward);
  testing::StageFile forward;
  const IndexReader shard = corpus.shard({1, 1}, corpus.order_file(order, {}, 1), {}, {}, &forward);
  write("only_shard", shard, forward);
}

/// A collection and an index with given weights, with terms that the fuzzers search for.
void write_weights_seeds() {
  testing::Pipeline pipeline;
  pipeline.chunk_limits = {.terms = 60, .bytes = 1500};
  std::vector<testing::WeightedDocument> documents(130);
  RandomBits random(71);
  for (testing::WeightedDocument& document : documents) {
    document = {{"flour", static_cast<std::uint32_t>(1 + random.below(255))}, {"mill", 200}};
    document["s" + std::to_string(random.below(1 + random.below(60)))] =
        static_cast<std::uint32_t>(1 + random.below(9));
  }
  const CollectionReader collection(testing::parse_weights(pipeline, testing::as_vector_jsonl(documents), {8, 1.0}));
  BuildOptions options;
  options.codec_options.block_size = 64;
  const IndexReader index =
      testing::Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), options));
  write_seed("collection", "weights", fuzz::seed_of(collection.container(), fuzz::collection_sections));
  write_seed("index", "weights", fuzz::seed_of(index.container(), fuzz::index_sections));
  write_seed("build", "weights", build_seed(0, 0, {}, collection));
}

}  // namespace

TEST_CASE("make the fuzzers' seeds of weights", "[.seeds][.weights_seeds]") { write_weights_seeds(); }

TEST_CASE("make the fuzzers' seeds of forward files", "[.seeds][.forward_seeds]") { write_forward_seeds(); }

TEST_CASE("make the fuzzers' seeds of fields", "[.seeds][.fields_seeds]") { write_fields_seeds(); }

TEST_CASE("make the fuzzers' seeds of shards", "[.seeds][.shards_seeds]") {
  const testing::SplitCorpus corpus(testing::random_corpus(1, {30, 60, 20, true}), 2);
  const StatisticsReader statistics = corpus.statistics();
  write_seed("statistics", "two_splits", fuzz::seed_of(statistics.container(), fuzz::statistics_sections));
  const testing::StageFile file = corpus.pipeline.new_file();
  write_scales(*file, corpus.scales(statistics, {}));
  write_seed("scales", "two_splits", fuzz::seed_of(ContainerReader(file, FileKind::scales), fuzz::scales_sections));
  const OrderReader order = corpus.order_file(corpus.pipeline.order(corpus.whole), {}, 2);
  write_seed("order", "two_shards", fuzz::seed_of(order.container(), fuzz::order_sections));
  write_seed("index", "shard", fuzz::seed_of(corpus.shard({2, 2}, order, {}, {}).container(), fuzz::index_sections));
  write_shards_seeds();
}

TEST_CASE("make the fuzzers' seeds of texts", "[.seeds][.texts_seeds]") { write_texts_seeds(); }

TEST_CASE("make the fuzzers' seeds", "[.seeds]") {
  const TemporaryFolder folder;
  const Built small = build(folder, 3, "maskpfd", true);
  write_seed("collection", "small", fuzz::seed_of(small.collection.container(), fuzz::collection_sections));
  write_seed("order", "scores", fuzz::seed_of(small.order, fuzz::order_sections));
  write_seed("index", "small", fuzz::seed_of(small.index, fuzz::index_sections));
  Built planned = build(folder, 3, "maskpfd", false);
  CachePlan plan = testing::small_plan(IndexReader(std::move(planned.index)));
  write_seed("plan", "two_lists",
             fuzz::seed_of(testing::plan_reader(folder.path(""), plan).container(), fuzz::plan_sections));
  plan.lists.clear();
  write_seed("plan", "no_lists",
             fuzz::seed_of(testing::plan_reader(folder.path(""), plan).container(), fuzz::plan_sections));
  write_seed("container", "order", testing::bytes_of(small.order.file()));
  write_seed("container", "collection", testing::bytes_of(small.collection.container().file()));
  for (const char* codec : {"maskpfd", "newpfd", "rpfd", "rice"}) {
    const Built blocks = build(folder, 130, codec, false);
    write_seed("index", std::string("blocks_") + codec, fuzz::seed_of(blocks.index, fuzz::index_sections));
  }
  const Built impacts = build(folder, 80, "maskpfd", false, 8);
  write_seed("index", "impacts", fuzz::seed_of(impacts.index, fuzz::index_sections));
  const Built all_sections = build(folder, 150, "maskpfd", false, 8, OrderBy::score);
  write_seed("index", "all_sections", fuzz::seed_of(all_sections.index, fuzz::index_sections));
  write_build_seeds(folder, small);
  write_simulate_seeds();
  write_corpus_seeds();
  const Built chunks = build(folder, 40, "maskpfd", false);
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
