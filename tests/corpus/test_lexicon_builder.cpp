#include <map>
#include <set>

#include "quern/core/random.hpp"
#include "quern/corpus/lexicon_builder.hpp"

#include "catch.hpp"
#include "corpus/small_collection.hpp"
#include "formats/container_writing.hpp"

/// The lexicon of a collection through parse_corpus(), including the builder with little memory.
using namespace quern;
using quern::testing::Page;
using quern::testing::TemporaryFolder;

namespace {

/// Pages of words drawn from a growing vocabulary.
std::vector<Page> random_pages(std::size_t count, std::uint64_t seed) {
  RandomBits random(seed);
  std::vector<Page> pages;
  for (std::size_t i = 0; i < count; ++i) {
    Page page{"d" + std::to_string(i), "http://www.site.example/" + std::to_string(i), "title", ""};
    for (std::uint64_t words = random.below(60); words > 0; --words)
      page.text += "w" + std::to_string(random.below(1 + random.below(20 * (i + 1)))) + " ";
    pages.push_back(std::move(page));
  }
  return pages;
}

struct Counts {
  std::uint64_t df = 0, cf = 0;
  bool operator==(const Counts&) const = default;
};

std::map<std::string, Counts> lexicon_of(const CollectionReader& collection) {
  std::map<std::string, Counts> lexicon;
  DictionaryScan scan = collection.lexicon();
  DictionaryEntry entry;
  while (scan.next(entry)) {
    const auto [df, cf] = TermCounts::parse(entry.payload, "lexicon");
    lexicon[std::string(entry.term)] = {df, cf};
  }
  return lexicon;
}

/// df and cf by counting the words of title and text; the URL's words are in the lexicon with zero counts.
std::map<std::string, Counts> counted(const std::vector<Page>& pages) {
  std::map<std::string, Counts> lexicon;
  for (const Page& page : pages) {
    std::map<std::string, std::uint64_t> words;
    std::string word;
    for (const char c : page.title + " " + page.text + " ") {
      if (c != ' ') {
        word += c;
      } else if (!word.empty()) {
        ++words[std::exchange(word, {})];
      }
    }
    for (const auto& [term, times] : words) {
      ++lexicon[term].df;
      lexicon[term].cf += times;
    }
    // http, www, site, example, the page's number
    for (const char* part : {"http", "www", "site", "example"}) lexicon[part];
    lexicon[page.docno.substr(1)];
  }
  return lexicon;
}

}  // namespace

TEST_CASE("Terms, document and collection frequencies match the pages", "[collection]") {
  const TemporaryFolder folder;
  const std::vector<Page> pages = random_pages(300, 37);
  const CollectionReader collection = testing::collection_of(folder, pages);
  REQUIRE(collection.num_chunks() > 3);
  CHECK(lexicon_of(collection) == counted(pages));
  CHECK_NOTHROW(collection.container().verify(default_resources()));
  CHECK_NOTHROW(collection.verify_contents(default_resources()));
}

TEST_CASE("A collection's bytes depend on neither memory nor threads", "[collection][property]") {
  const TemporaryFolder folder;
  const std::vector<Page> pages = random_pages(400, 41);
  ParseReport roomy, tight;
  const File wanted = testing::parse_pages(folder, pages, testing::small_resources(folder, 1, 1 << 30), &roomy);
  // A table of an eighth of 64 KB is full after each chunk: many generations.
  for (const unsigned threads : {1u, 3u}) {
    const File file = testing::parse_pages(folder, pages, testing::small_resources(folder, threads, 64 << 10), &tight);
    CHECK(testing::bytes_of(file) == testing::bytes_of(wanted));
    CHECK(tight.terms == roomy.terms);
    CHECK(tight.postings == roomy.postings);
    CHECK(tight.tokens == roomy.tokens);
  }
}

TEST_CASE("The forward lists contain each page's words", "[collection]") {
  const TemporaryFolder folder;
  const std::vector<Page> pages = random_pages(100, 43);
  const CollectionReader collection = testing::collection_of(folder, pages, 2000);
  std::vector<std::string> terms;
  DictionaryScan scan = collection.lexicon();
  for (DictionaryEntry entry; scan.next(entry);) terms.emplace_back(entry.term);
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    std::size_t page = collection.first_document(chunk);
    for (const ForwardRow& row : collection.forward(chunk, buffers)) {
      std::string text;
      for (TokenCursor cursor(row.body); !cursor.done();) {
        const std::uint32_t token = cursor.next();
        if (token != TokenCursor::phrase_end_token) text += terms.at(buffers.terms.at(token - 1)) + " ";
      }
      REQUIRE(text == pages.at(page++).text);
    }
  }
}

TEST_CASE("There may be more generations than a process may open files", "[collection]") {
  const TemporaryFolder folder;
  File file = File::anonymous(folder.path(""));
  CollectionWriter writer(file, folder.path(""));
  ZstdCompressor zstd;
  LexiconBuilder builder(folder.path(""), 0);  // every chunk fills the table
  constexpr std::uint32_t num_chunks = 3000;
  for (std::uint32_t i = 0; i < num_chunks; ++i) {
    PackedChunk chunk;
    chunk.row.documents = 1;
    chunk.row.terms = 2;
    chunk.lengths = {2};
    for (const ChunkPiece piece : {ChunkPiece::documents, ChunkPiece::forward, ChunkPiece::links})
      pack_piece(piece, Bytes{}, zstd, chunk);
    writer.add_chunk(chunk);
    TermTable terms;
    terms.add("own" + std::to_string(10000 + i));
    terms.add("all");
    const std::vector<std::uint32_t> df = {1, 1};
    const std::vector<std::uint64_t> cf = {1, 2};
    builder.add_chunk({terms, df, cf, {}, {}, false, false});
  }
  const LexiconBuilder::Counts counts = builder.finish(writer);
  CHECK(counts.terms == num_chunks + 1);
  CHECK(counts.postings == 2 * num_chunks);
  CHECK(counts.tokens == 3 * num_chunks);
  CollectionManifest manifest;
  manifest.documents = num_chunks;
  manifest.terms = counts.terms;
  writer.finish(manifest);
  const CollectionReader collection(testing::shared(std::move(file)));
  const auto lexicon = lexicon_of(collection);
  CHECK(lexicon.at("all") == Counts{num_chunks, 2 * num_chunks});
  CHECK(lexicon.at("own10007") == Counts{1, 1});
}

TEST_CASE("The term table numbers terms in order of first occurrence", "[collection][property]") {
  RandomBits random(47);
  TermTable table;
  std::map<std::string, std::uint32_t> wanted;
  for (int i = 0; i < 20000; ++i) {
    std::string term(random.below(4) == 0 ? random.below(256) : random.below(3), 'a');
    for (char& c : term) c = static_cast<char>('a' + random.below(2));
    const auto [entry, fresh] = wanted.try_emplace(term, static_cast<std::uint32_t>(wanted.size()));
    REQUIRE(table.add(term) == entry->second);
  }
  REQUIRE(table.size() == wanted.size());
  for (const auto& [term, number] : wanted) {
    REQUIRE(table.term(number) == term);
    REQUIRE(table.key(number).term == term);
    REQUIRE(table.key(number).prefix == term_key(term).prefix);
    REQUIRE(table.key(number).hash == term_key(term).hash);
  }
  table.clear();
  CHECK(table.size() == 0);
  CHECK(table.add("again") == 0);
}

TEST_CASE("The term table distinguishes terms with the same slot and tag", "[collection]") {
  TermTable table;
  const auto add = [&table](std::string_view term, std::uint64_t hash) {
    TermKey key = term_key(term);
    key.hash = hash;
    return table.add(key);
  };
  CHECK(add("a", 5) == 0);
  CHECK(add("b", 5) == 1);
  CHECK(add("c", 5 + (std::uint64_t{1} << 40)) == 2);
  CHECK(add("a behind sixteen bytes", 5) == 3);
  CHECK(add("a behind sixteen bytez", 5) == 4);
  CHECK(add("b", 5) == 1);
  CHECK(add("a", 5) == 0);
  CHECK(add("a behind sixteen bytes", 5) == 3);
}
