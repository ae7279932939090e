#include <algorithm>
#include <map>

#include "quern/core/random.hpp"
#include "quern/formats/forward_tokens.hpp"
#include "quern/forward/build_forward.hpp"
#include "quern/io/checksum.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/url.hpp"

#include "catch.hpp"
#include "pipeline/pipeline.hpp"

/// The forward file of an index has the tokens of the collection, by docID, and the texts of the links.
namespace quern {
namespace {

using namespace testing;

/// A page of a small site, with links to others.
struct ModelPage {
  std::string docno, url, title;
  std::vector<std::string> paragraphs;
  std::vector<std::pair<std::string, std::string>> links;  ///< URL and text
};

std::string word(RandomBits& random) { return "w" + std::to_string(random.below(random.below(2) == 0 ? 12 : 300)); }

std::string words(RandomBits& random, std::uint64_t most) {
  std::string text;
  for (std::uint64_t i = random.below(most + 1); i > 0; --i) text += word(random) + " ";
  return text;
}

/// Pages that link to each other, to themselves and to others; some have no URL, some share one, some are long.
std::vector<ModelPage> random_site(std::uint64_t seed, std::size_t count) {
  RandomBits random(seed);
  std::vector<ModelPage> pages(count);
  for (std::size_t i = 0; i < count; ++i) {
    ModelPage& page = pages[i];
    page.docno = "P-" + std::to_string(i);
    if (random.below(10) > 0)
      page.url = "http://site" + std::to_string(random.below(3)) + ".example/only" + std::to_string(i) + "/page" +
                 std::to_string(random.below(20) == 0 ? 0 : i);
    page.title = words(random, 6);
    for (std::uint64_t p = random.below(5); p > 0; --p)
      page.paragraphs.push_back(words(random, random.below(12) == 0 ? 3000 : 30));
  }
  for (ModelPage& page : pages) {
    for (std::uint64_t n = random.below(7); n > 0; --n) {
      const std::string& target = pages[random.below(count)].url;
      page.links.emplace_back(random.below(5) == 0 || target.empty() ? "http://elsewhere.example/" : target,
                              words(random, 3) + (random.below(4) == 0 ? "anchoronly" + std::to_string(n) : ""));
    }
  }
  return pages;
}

std::string as_trecweb(const std::vector<ModelPage>& pages) {
  std::string corpus;
  for (const ModelPage& page : pages) {
    corpus += "<DOC>\n<DOCNO>" + page.docno + "</DOCNO>\n<DOCHDR>\n" + page.url + "\n</DOCHDR>\n<html><title>" +
              page.title + "</title>";
    for (const std::string& paragraph : page.paragraphs) corpus += "<p>" + paragraph + "</p>";
    for (const auto& [url, text] : page.links) corpus += "<a href=\"" + url + "\">" + text + "</a> ";
    corpus += "</html>\n</DOC>\n";
  }
  return corpus;
}

/// A document as text: streams with their tokens, | where a phrase ends.
using Streams = std::array<std::string, num_document_streams>;

/// The streams that the collection itself has, by its documents, read piece by piece.
std::vector<Streams> streams_of(const CollectionReader& collection) {
  std::vector<std::string> terms;
  LexiconScan lexicon = collection.lexicon();
  for (LexiconEntry entry; lexicon.next(entry);) terms.emplace_back(entry.term);
  std::vector<Streams> documents(collection.num_documents());
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    docid_t document = collection.first_document(chunk);
    for (const ForwardRow& row : collection.forward(chunk, buffers)) {
      const ByteView streams[] = {row.title, row.body, row.url};
      for (std::size_t s = 0; s < 3; ++s)
        for (TokenCursor cursor(streams[s]); !cursor.done();) {
          const std::uint32_t token = cursor.next();
          documents[document][s] += token == 0 ? "| " : terms[buffers.terms[token - 1]] + " ";
        }
      ++document;
    }
  }
  return documents;
}

/// Adds the texts of links to other documents, by docID of the linking document; fills the numbers of links.
void add_anchors(const std::vector<ModelPage>& pages, const DocumentOrder& order, std::vector<Streams>& documents,
                 std::vector<StaticNumbers>& numbers) {
  std::map<std::string, std::size_t> first_with;
  for (std::size_t i = 0; i < pages.size(); ++i)
    if (!pages[i].url.empty()) first_with.emplace(page_url(pages[i].url), i);
  Analyzer analyzer{AnalyzerOptions()};
  for (const docid_t from : order.documents) {
    std::vector<std::size_t> met;
    for (const auto& [url, text] : pages[from].links) {
      ++numbers[from].links;
      const auto to = first_with.find(page_url(url));
      if (to == first_with.end() || (!pages[from].url.empty() && page_url(url) == page_url(pages[from].url))) continue;
      for (const std::string& term : analyzer.terms(text)) documents[to->second][3] += term + " ";
      documents[to->second][3] += "| ";
      if (std::find(met.begin(), met.end(), to->second) != met.end()) continue;
      met.push_back(to->second);
      ++numbers[from].out_links;
      ++numbers[to->second].in_links;
    }
  }
}

/// An index of a site and its forward file.
struct IndexedSite {
  StageFile index, forward;
  ForwardReport report;
};

IndexedSite build(Pipeline& pipeline, const CollectionReader& collection, const DocumentOrder& order) {
  IndexedSite site;
  site.index = pipeline.build(collection, order, {});
  const std::string hash = hash_text(Pipeline::open_index(site.index).container().content_hash());
  site.forward = pipeline.new_file();
  site.report = build_forward(collection, {order.documents, hash}, pipeline.resources, *site.forward);
  return site;
}

ForwardReader open_forward(const StageFile& file) {
  return ForwardReader(ContainerReader(file, FileKind::forward, forward_version));
}

}  // namespace

TEST_CASE("a forward file has the tokens of the collection and the texts of links, by docID", "[forward][property]") {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const std::vector<ModelPage> pages = random_site(seed, seed == 1 ? 3 : 70);
    for (const bool split : {false, true}) {
      Pipeline pipeline;
      if (split) pipeline.chunk_limits = {.terms = 50, .bytes = 600};
      const StageFile file = pipeline.parse(as_trecweb(pages));
      const CollectionReader collection(file);
      REQUIRE(collection.num_documents() == pages.size());
      CHECK(collection.split_documents().empty() == !split);
      for (const OrderBy by : {OrderBy::natural, OrderBy::url}) {
        INFO("seed " << seed << (split ? ", split" : "") << ", order " << name_of_value(order_names, by));
        const DocumentOrder order = pipeline.order(collection, by);
        const IndexedSite site = build(pipeline, collection, order);
        const IndexReader index = Pipeline::open_index(site.index);
        const ForwardReader forward = open_forward(site.forward);
        forward.container().verify(pipeline.resources);
        CHECK_NOTHROW(forward.verify_contents(index, pipeline.resources));

        std::vector<Streams> expected = streams_of(collection);
        std::vector<StaticNumbers> numbers(pages.size());
        for (std::size_t i = 0; i < pages.size(); ++i) {
          numbers[i].url_bytes = pages[i].url.size();
          numbers[i].url_depth = pages[i].url.empty() ? 0 : 2;
        }
        add_anchors(pages, order, expected, numbers);
        for (docid_t docid = 0; docid < pages.size(); ++docid) {
          Streams found;
          for_each_token(forward, index, docid, [&](DocumentStream stream, std::string_view term) {
            found[static_cast<std::size_t>(stream)].append(term.empty() ? "|" : term).append(1, ' ');
          });
          INFO("docID " << docid);
          CHECK(found == expected[order.documents[docid]]);
          CHECK(forward.numbers(docid) == numbers[order.documents[docid]]);
        }
      }
    }
  }
}

TEST_CASE("a forward file has the same bytes for any threads and memory", "[forward][property]") {
  const std::string corpus = as_trecweb(random_site(9, 400));
  std::optional<Bytes> wanted;
  for (const unsigned threads : {1u, 2u, 4u}) {
    for (const std::uint64_t memory : {std::uint64_t{18} << 20, std::uint64_t{1} << 30}) {
      Pipeline pipeline;
      pipeline.chunk_limits = {.terms = 200, .bytes = 4000};
      const StageFile file = pipeline.parse(corpus);
      const CollectionReader collection(file);
      pipeline.resources.threads = threads;
      pipeline.resources.memory_bytes = memory;
      const IndexedSite site = build(pipeline, collection, pipeline.order(collection, OrderBy::url));
      const Bytes bytes = bytes_of(*site.forward);
      INFO(threads << " threads, " << memory << " bytes of memory");
      if (!wanted) wanted = bytes;
      CHECK((bytes == *wanted));
    }
  }
}

TEST_CASE("too little memory for a forward file is an error that says how much it takes", "[forward]") {
  Pipeline pipeline;
  const StageFile file = pipeline.parse(as_trecweb(random_site(3, 20)));
  const CollectionReader collection(file);
  pipeline.resources.memory_bytes = 1 << 20;
  CHECK_THROWS_WITH(check_forward_memory(collection, pipeline.resources), Catch::Contains("raise it"));
}

TEST_CASE("damage in a forward file is found, and reading it bears any bytes", "[forward][property]") {
  Pipeline pipeline;
  const StageFile file = pipeline.parse(as_trecweb(random_site(5, 60)));
  const CollectionReader collection(file);
  const IndexedSite site = build(pipeline, collection, pipeline.order(collection));
  const IndexReader index = Pipeline::open_index(site.index);
  const Sections sound = sections_of(open_forward(site.forward).container());
  RandomBits random(77);
  std::size_t found = 0;
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    Sections damaged = sound;
    auto& [name, bytes] = damaged[random.below(damaged.size() - 1)];
    bytes[random.below(bytes.size())] ^= static_cast<std::uint8_t>(1 + random.below(255));
    INFO(round << ": section " << name);
    const auto container =
        shared(container_file(pipeline.resources.tmp_folder, FileKind::forward, forward_version, damaged));
    try {
      const ForwardReader forward(ContainerReader(container, FileKind::forward, forward_version));
      for (docid_t docid = 0; docid < forward.num_documents(); ++docid) {
        try {
          for_each_token(forward, index, docid, [](DocumentStream, std::string_view) {});
        } catch (const CorruptFile&) {
        }
      }
      forward.verify_contents(index, pipeline.resources);
    } catch (const CorruptFile&) {
      ++found;
    }
  }
  // What is left are other terms in the places of known ones, and other numbers of links.
  CHECK(found > rounds / 8);
}

}  // namespace quern
