#include "quern/lab/synth/document_tree.hpp"

#include "catch.hpp"
#include "lab/synth/synth_testing.hpp"

/// Synthetic words and documents.
namespace quern {
namespace {

using namespace testing;

std::string word(std::uint32_t rank) {
  std::string text;
  append_word(rank, text);
  return text;
}

}  // namespace

TEST_CASE("each rank has its own word of syllables", "[synth]") {
  CHECK(word(0) == "baba");
  CHECK(word(1) == "beba");
  CHECK(word(75) == "babe");
  std::set<std::string> words;
  for (std::uint32_t rank = 0; rank < 500000; ++rank) words.insert(word(rank));
  CHECK(words.size() == 500000);
  CHECK(word(75 * 75 - 1) == "zuzu");
  CHECK(word(75 * 75) == "bababa");
  CHECK(word(0xffffffff).size() == 12);
}

TEST_CASE("a synthetic corpus is parsed with its documents' titles, URLs and links", "[synth]") {
  Pipeline pipeline;
  SynthCorpusOptions options;
  options.tree.documents = 700;
  options.tree.mean_length = 60;
  const auto write = [&](unsigned threads) {
    pipeline.resources.threads = threads;
    const StageFile file = pipeline.new_file();
    write_corpus(options, pipeline.resources, *file);
    const Bytes bytes = bytes_of(*file);
    return std::string(bytes.begin(), bytes.end());
  };
  const std::string text = write(1);
  CHECK(write(3) == text);
  const CollectionReader collection(pipeline.parse(text));
  REQUIRE(collection.num_documents() == 700);
  CHECK(collection.manifest().links > 700);
  CHECK(collection.manifest().empty_documents == 0);
  const DocumentTree tree(options.tree);
  const DocumentNames names(tree);
  ChunkBuffers buffers;
  docid_t document = 0;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    for (const DocumentRow& row : collection.documents(chunk, buffers)) {
      REQUIRE(row.docno == DocumentNames::docno(document));
      REQUIRE(row.url == names.url(document));
      REQUIRE(std::count(row.title.begin(), row.title.end(), ' ') == 2);
      ++document;
    }
  }
}

}  // namespace quern
