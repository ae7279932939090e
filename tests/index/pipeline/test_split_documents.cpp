#include <map>

#include "quern/core/random.hpp"
#include "quern/corpus/forward_postings.hpp"
#include "quern/order/in_links.hpp"
#include "quern/order/page_links.hpp"
#include "quern/order/pagerank.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"

/// Documents that span several chunks, as large ones do, compared with the same documents in single chunks.
namespace quern {
namespace {

using namespace testing;

std::string random_words(RandomBits& random, std::uint64_t count) {
  std::string text;
  for (; count > 0; --count) {
    const std::uint64_t word = random.below(1 + random.below(1 + random.below(400)));
    text += "w" + std::to_string(word) + (random.below(9) == 0 ? "<p>" : " ");
  }
  return text;
}

std::string page_url_of(std::uint64_t page) {
  return "http://s" + std::to_string(page % 3) + ".example/" + std::to_string(page);
}

/// Pages with words and links, a few of them long.
std::string random_pages(std::uint64_t seed, std::uint64_t pages) {
  RandomBits random(seed);
  std::string corpus;
  for (std::uint64_t page = 0; page < pages; ++page) {
    corpus += "<DOC>\n<DOCNO>D-" + std::to_string(page) + "</DOCNO>\n<DOCHDR>\n" + page_url_of(page) +
              "\n</DOCHDR>\n<title>" + random_words(random, random.below(5)) + "</title>";
    corpus += random_words(random, random.below(random.below(5) == 0 ? 900 : 20));
    for (std::uint64_t links = random.below(random.below(4) == 0 ? 60 : 4); links > 0; --links)
      corpus += "<a href=\"" + page_url_of(random.below(pages + pages / 2)) + "\">" + random_words(random, 2) + "</a>";
    corpus += "\n</DOC>\n";
  }
  return corpus;
}

StageFile parse_split(Pipeline& pipeline, const std::string& corpus, ChunkLimits limits) {
  pipeline.chunk_limits = limits;
  return pipeline.parse(corpus);
}

std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> lexicon_of(const CollectionReader& collection) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> lexicon;
  DictionaryScan scan = collection.lexicon();
  for (DictionaryEntry entry; scan.next(entry);) {
    const auto [df, cf] = TermCounts::parse(entry.payload, "lexicon");
    lexicon[std::string(entry.term)] = {df, cf};
  }
  return lexicon;
}

/// A document's row, streams as lexicon numbers, and links.
struct WholeDocument {
  std::string docno, url, title;
  std::uint32_t tokens = 0;
  std::array<std::vector<std::uint64_t>, 3> streams;
  std::vector<std::pair<std::string, std::string>> links;
  bool operator==(const WholeDocument&) const = default;
};

std::vector<WholeDocument> documents_of(const CollectionReader& collection) {
  std::vector<WholeDocument> documents(collection.num_documents());
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    const docid_t first = collection.first_document(chunk);
    docid_t document = first;
    for (const DocumentRow& row : collection.documents(chunk, buffers)) {
      WholeDocument& whole = documents[document++];
      whole.docno = row.docno, whole.url = row.url, whole.title = row.title, whole.tokens = row.tokens;
    }
    document = first;
    for (const ForwardRow& row : collection.forward(chunk, buffers)) {
      auto& streams = documents[document++].streams;
      const ByteView parts[] = {row.title, row.body, row.url};
      for (std::size_t i = 0; i < 3; ++i)
        for (TokenCursor cursor(parts[i]); !cursor.done();) {
          const std::uint32_t token = cursor.next();
          streams[i].push_back(token == TokenCursor::phrase_end_token ? 0
                                                                      : buffers.terms.at(token - 1) + std::uint64_t{1});
        }
    }
    collection.links(chunk, buffers, [&](std::uint32_t row, std::string_view url, std::string_view anchor) {
      documents[first + row].links.emplace_back(url, anchor);
    });
  }
  return documents;
}

std::vector<std::pair<std::string, std::string>> links_of(const CollectionReader& collection,
                                                          const Resources& resources, LinkCounts& counts) {
  std::vector<std::pair<std::string, std::string>> links;
  counts = list_links(collection, resources,
                      [&](std::string_view from, std::string_view to) { links.emplace_back(from, to); });
  return links;
}

/// The sections of an index except the manifest, which names its collection.
Sections index_sections(const StageFile& file) {
  Sections sections = sections_of(ContainerReader(file, FileKind::index));
  std::erase_if(sections, [](const auto& section) { return section.first == "manifest"; });
  return sections;
}

void check_same_links(const CollectionReader& split, const CollectionReader& whole, const Resources& resources) {
  LinkCounts split_counts, whole_counts;
  CHECK(links_of(split, resources, split_counts) == links_of(whole, resources, whole_counts));
  CHECK(split_counts.links == whole_counts.links);
  CHECK(split_counts.edges == whole_counts.edges);
  CHECK(split_counts.self == whole_counts.self);
  CHECK(split_counts.leaving == whole_counts.leaving);
  CHECK(split_counts.duplicates == whole_counts.duplicates);
  const ReadGraph from_split = graph_of_collection(split, resources),
                  from_whole = graph_of_collection(whole, resources);
  const auto &split_graph = std::get<InLinks>(from_split.graph), &whole_graph = std::get<InLinks>(from_whole.graph);
  CHECK(split_graph.begins == whole_graph.begins);
  CHECK(split_graph.sources == whole_graph.sources);
  EdgeSpool joined(resources.tmp_folder), looked_up(resources.tmp_folder);
  CHECK(join_page_links(split, resources, joined) == look_up_page_links(split, resources, looked_up));
  CHECK(std::get<InLinks>(make_page_graph("links", joined, split.num_documents(), resources)).sources ==
        whole_graph.sources);
}

}  // namespace

TEST_CASE("Documents split over chunks give the collection, orders and index of whole ones",
          "[collection][index][property]") {
  const ChunkLimits all_limits[] = {{1, 1 << 20},  {3, 1 << 20},   {40, 1 << 20}, {1 << 20, 1},
                                    {1 << 20, 90}, {1 << 20, 900}, {20, 300}};
  for (const std::uint64_t seed : {3u, 4u}) {
    Pipeline pipeline;
    const std::string corpus = random_pages(seed, 60);
    const StageFile whole_file = parse_split(pipeline, corpus, {});
    const CollectionReader whole(whole_file);
    REQUIRE(whole.split_documents().empty());
    for (const ChunkLimits& limits : all_limits) {
      INFO("seed " << seed << ", chunks of " << limits.terms << " terms and " << limits.bytes << " bytes");
      const StageFile file = parse_split(pipeline, corpus, limits);
      const CollectionReader split(file);
      REQUIRE(split.split_documents().size() > 3);
      CHECK_NOTHROW(split.container().verify(pipeline.resources));
      CHECK_NOTHROW(split.verify_contents(pipeline.resources));
      CHECK(lexicon_of(split) == lexicon_of(whole));
      CHECK(split.lengths() == whole.lengths());
      CHECK(documents_of(split) == documents_of(whole));
      check_same_links(split, whole, pipeline.resources);
      for (const OrderBy by : {OrderBy::natural, OrderBy::url, OrderBy::score, OrderBy::bisection}) {
        INFO("order " << name_of_value(order_names, by));
        const DocumentOrder order = pipeline.order(split, by), whole_order = pipeline.order(whole, by);
        CHECK(order.documents == whole_order.documents);
        CHECK(order.global_scores == whole_order.global_scores);
        BuildOptions options;
        CHECK(index_sections(pipeline.build(split, order, options)) ==
              index_sections(pipeline.build(whole, order, options)));
        options.weighting = read_weighting("bm25f");
        CHECK(index_sections(pipeline.build(split, order, options)) ==
              index_sections(pipeline.build(whole, order, options)));
      }
    }
  }
}

TEST_CASE("A chunk ends when the bytes of its distinct terms reach its limit", "[collection]") {
  std::string corpus = "<DOC>\n<DOCNO>D</DOCNO>\n<DOCHDR>\nhttp://s.example/\n</DOCHDR>\n";
  for (int term = 100; term < 200; ++term) corpus += std::string(200, 'x') + std::to_string(term) + " ";
  corpus += "\n</DOC>\n";
  Pipeline pipeline;
  const CollectionReader split(parse_split(pipeline, corpus, {1 << 20, 2000}));
  CHECK(split.num_chunks() == 11);  // 10 terms each, and one with the URL
  CHECK(split.manifest().terms == 103);
}

TEST_CASE("Split documents have the same bytes for any threads and memory", "[collection][property]") {
  const std::string corpus = random_pages(7, 80);
  Bytes wanted;
  for (const unsigned threads : {1u, 3u}) {
    for (const std::uint64_t memory : {std::uint64_t{1} << 14, std::uint64_t{1} << 18, std::uint64_t{1} << 30}) {
      Pipeline pipeline;
      pipeline.resources.threads = threads;
      pipeline.resources.memory_bytes = memory;
      const Bytes bytes = bytes_of(*parse_split(pipeline, corpus, {12, 400}));
      if (wanted.empty()) wanted = bytes;
      CHECK(bytes == wanted);
    }
  }
}

TEST_CASE("The postings of a split document arrive in batches of any size", "[collection][property]") {
  Pipeline pipeline;
  const std::string corpus = random_pages(11, 40);
  const CollectionReader whole(parse_split(pipeline, corpus, {})), split(parse_split(pipeline, corpus, {15, 1 << 20}));
  const bool weighs_fields = GENERATE(false, true);
  ForwardPostings reader(weighs_fields ? factors_of(read_weighting("bm25f"), {40, 4000, 90}) : FactorsOf());
  std::map<docid_t, std::map<term_t, freq_t>> wanted;
  for (std::size_t chunk = 0; chunk < whole.num_chunks(); ++chunk)
    reader.for_each_document(whole, chunk, [&](docid_t document, std::span<const Posting> postings) {
      for (const Posting& posting : postings) wanted[document][posting.term] = posting.freq;
    });
  REQUIRE(!split.split_documents().empty());
  for (const SplitDocument& document : split.split_documents()) {
    for (const std::size_t batch : {std::size_t{1}, std::size_t{2}, std::size_t{17}, std::size_t{100000}}) {
      std::map<term_t, freq_t> postings;
      reader.read_split(
          split, document, 12345,
          [&](std::span<const Posting> some) {
            REQUIRE(some.size() <= batch);
            for (const Posting& posting : some) {
              REQUIRE(posting.docid == 12345);
              REQUIRE((postings.empty() || postings.rbegin()->first < posting.term));
              postings[posting.term] = posting.freq;
            }
          },
          batch);
      REQUIRE(postings == wanted[document.document]);
    }
  }
}

TEST_CASE("Chunks with unterminated documents are refused", "[collection]") {
  Pipeline pipeline;
  const StageFile file = parse_split(pipeline, random_pages(5, 20), {10, 1 << 20});
  const Sections sections = sections_of(ContainerReader(file, FileKind::collection));
  constexpr std::size_t row_bytes = 56, flags_at = 52;
  std::size_t refused = 0, rows = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].first != "chunks") continue;
    rows = sections[i].second.size() / row_bytes;
    for (std::size_t row = 0; row < rows; ++row) {
      for (const std::uint8_t flags : {0, 1, 2}) {
        Sections damaged = sections;
        if (damaged[i].second[row * row_bytes + flags_at] == flags) continue;
        damaged[i].second[row * row_bytes + flags_at] = flags;
        try {
          const CollectionReader collection(std::make_shared<const File>(
              container_file(pipeline.resources.tmp_folder, FileKind::collection, damaged)));
          collection.verify_contents(pipeline.resources);
          FAIL("row " << row << " with flags " << int{flags});
        } catch (const CorruptFile&) {
          ++refused;
        }
      }
    }
  }
  CHECK(rows > 20);
  CHECK(refused == 2 * rows);
}

}  // namespace quern
