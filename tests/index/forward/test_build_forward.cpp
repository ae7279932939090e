#include <algorithm>
#include <cmath>
#include <map>

#include "quern/formats/forward_file.hpp"
#include "quern/search/expansion.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/url.hpp"

#include "catch.hpp"
#include "index/forward/indexed_site.hpp"

/// The forward file of an index has the tokens of the collection, by docID, and the texts of the links.
namespace quern {
namespace {

using namespace testing;

/// A document as text: streams with their tokens, with | for phrase ends.
using Streams = std::array<std::string, num_document_streams>;

/// The collection's streams by document, read piece by piece.
std::vector<Streams> streams_of(const CollectionReader& collection) {
  std::vector<std::string> terms;
  DictionaryScan lexicon = collection.lexicon();
  for (DictionaryEntry entry; lexicon.next(entry);) terms.emplace_back(entry.term);
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
        const IndexedSite site = index_site(pipeline, collection, order);
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
      const IndexedSite site = index_site(pipeline, collection, pipeline.order(collection, OrderBy::url));
      const Bytes bytes = bytes_of(*site.forward);
      INFO(threads << " threads, " << memory << " bytes of memory");
      if (!wanted) wanted = bytes;
      CHECK((bytes == *wanted));
    }
  }
}

TEST_CASE("too little memory for a forward file is an error that says how much is needed", "[forward]") {
  Pipeline pipeline;
  const StageFile file = pipeline.parse(as_trecweb(random_site(3, 20)));
  const CollectionReader collection(file);
  pipeline.resources.memory_bytes = 1 << 20;
  CHECK_THROWS_WITH(check_forward_memory(collection, pipeline.resources), Catch::Contains("raise it"));
}

TEST_CASE("damage in a forward file is found, and reading stays in bounds for any bytes", "[forward][property]") {
  Pipeline pipeline;
  const StageFile file = pipeline.parse(as_trecweb(random_site(5, 60)));
  const CollectionReader collection(file);
  const IndexedSite site = index_site(pipeline, collection, pipeline.order(collection));
  const IndexReader index = Pipeline::open_index(site.index);
  const Sections sound = sections_of(open_forward(site.forward).container());
  const QueryEngine engine(index, {});
  const std::array<const QueryEngine*, 1> engines = {&engine};
  RandomBits random(77);
  std::size_t found = 0;
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    Sections damaged = sound;
    auto& [name, bytes] = damaged[random.below(damaged.size() - 1)];
    bytes[random.below(bytes.size())] ^= static_cast<std::uint8_t>(1 + random.below(255));
    INFO(round << ": section " << name);
    const auto container = shared(container_file(pipeline.resources.tmp_folder, FileKind::forward, damaged));
    try {
      const ForwardReader forward(ContainerReader(container, FileKind::forward));
      for (docid_t docid = 0; docid < forward.num_documents(); ++docid) {
        try {
          for_each_token(forward, index, docid, [](DocumentStream, std::string_view) {});
          for (const char* model : {"rm3:df=1", "bo1"}) {
            const std::array<ScoredDocument, 1> documents = {{{docid, 1.0F}}};
            const QueryExpander expander(read_expansion(model), engines, {&forward, 1});
            for (const QueryTerm& term : expander.expand({}, documents)) REQUIRE(std::isfinite(term.weight));
          }
        } catch (const CorruptFile&) {
        }
      }
      forward.verify_contents(index, pipeline.resources);
    } catch (const CorruptFile&) {
      ++found;
    }
  }
  // The rest replaces terms or changes numbers of links.
  CHECK(found > rounds / 8);
}

}  // namespace quern
