#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/io/zstd_frame.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"

/// Texts from the corpus to the file next to an index.
namespace quern {
namespace {

using namespace testing;

/// Pages whose texts have phrases, white space and letters beyond ASCII; a few are long, and some have no text.
std::string pages_with_texts(std::uint64_t seed, std::uint64_t pages) {
  static const std::string_view parts[] = {" ", "\n", " -- ", "<p>", "<br>", "</p><p>", "<li>", " \u2003"};
  RandomBits random(seed);
  const auto words = [&](std::uint64_t count) {
    std::string text;
    for (; count > 0; --count)
      text += (random.below(20) == 0 ? "M\u00fchle" : "w" + std::to_string(random.below(1 + random.below(300)))) +
              std::string(parts[random.below(random.below(3) == 0 ? std::size(parts) : 1)]);
    return text;
  };
  std::string corpus;
  for (std::uint64_t page = 0; page < pages; ++page) {
    corpus += "<DOC>\n<DOCNO>D-" + std::to_string(page) + "</DOCNO>\n<DOCHDR>\nhttp://s" +
              std::to_string(random.below(7)) + ".example/" + std::to_string(page) + "\n</DOCHDR>\n<title>" +
              words(random.below(4)) + "</title>" + words(random.below(random.below(5) == 0 ? 900 : 20)) + "\n</DOC>\n";
  }
  return corpus;
}

std::vector<std::string> texts_of(const CollectionReader& collection) {
  std::vector<std::string> texts(collection.num_documents());
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    docid_t document = collection.first_document(chunk);
    for (const std::string_view part : collection.texts(chunk, buffers)) texts[document++] += part;
  }
  return texts;
}

/// Phrases of lexicon numbers, without empty ones.
using Phrases = std::vector<std::vector<std::string>>;

void add_token(Phrases& phrases, std::string token) {
  if (phrases.empty()) phrases.emplace_back();
  phrases.back().push_back(std::move(token));
}

void end_phrase(Phrases& phrases) {
  if (!phrases.empty() && !phrases.back().empty()) phrases.emplace_back();
}

/// Title and body of each document, from the forward lists.
std::vector<std::array<Phrases, 2>> forward_phrases(const CollectionReader& collection) {
  std::vector<std::string> terms;
  DictionaryScan scan = collection.lexicon();
  for (DictionaryEntry entry; scan.next(entry);) terms.emplace_back(entry.term);
  std::vector<std::array<Phrases, 2>> documents(collection.num_documents());
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    docid_t document = collection.first_document(chunk);
    for (const ForwardRow& row : collection.forward(chunk, buffers)) {
      const ByteView streams[] = {row.title, row.body};
      for (std::size_t i = 0; i < 2; ++i)
        for (TokenCursor cursor(streams[i]); !cursor.done();) {
          const std::uint32_t token = cursor.next();
          if (token == TokenCursor::phrase_end_token)
            end_phrase(documents[document][i]);
          else
            add_token(documents[document][i], terms[buffers.terms[token - 1]]);
        }
      ++document;
    }
  }
  return documents;
}

/// Title and body from a kept text: its first line is the title.
std::array<Phrases, 2> phrases_of(std::string text) {
  const std::size_t title_end = text.find('\n');
  REQUIRE(title_end != std::string::npos);
  std::replace(text.begin(), text.end(), '\n', phrase_end);
  std::array<Phrases, 2> phrases;
  Analyzer analyzer{AnalyzerOptions()};
  const std::string_view parts[] = {std::string_view(text).substr(0, title_end),
                                    std::string_view(text).substr(title_end + 1)};
  for (std::size_t i = 0; i < 2; ++i)
    analyzer.analyze(
        parts[i], [&](std::string_view token) { add_token(phrases[i], std::string(token)); },
        [&] { end_phrase(phrases[i]); });
  return phrases;
}

Sections sections_without(const ContainerReader& container, const std::vector<std::string>& names) {
  Sections sections = sections_of(container);
  std::erase_if(sections, [&](const auto& section) {
    return std::find(names.begin(), names.end(), section.first) != names.end();
  });
  return sections;
}

StageFile parse_with_texts(Pipeline& pipeline, const std::string& corpus, ChunkLimits limits = {}) {
  pipeline.store_text = true;
  pipeline.chunk_limits = limits;
  return pipeline.parse(corpus);
}

}  // namespace

TEST_CASE("Kept texts have the phrases of the forward lists, whatever chunks documents lie in",
          "[collection][texts][property]") {
  const ChunkLimits all_limits[] = {{1 << 20, 1 << 20}, {3, 1 << 20},  {40, 1 << 20},  {1 << 20, 1},
                                    {1 << 20, 2},       {1 << 20, 90}, {1 << 20, 900}, {20, 300}};
  for (const std::uint64_t seed : {21u, 22u}) {
    Pipeline pipeline;
    const std::string corpus = pages_with_texts(seed, 60);
    const CollectionReader whole(parse_with_texts(pipeline, corpus));
    REQUIRE(whole.split_documents().empty());
    const std::vector<std::string> wanted = texts_of(whole);
    for (const ChunkLimits& limits : all_limits) {
      INFO("seed " << seed << ", chunks of " << limits.terms << " terms and " << limits.bytes << " bytes");
      const CollectionReader split(parse_with_texts(pipeline, corpus, limits));
      CHECK_NOTHROW(split.container().verify(pipeline.resources));
      CHECK_NOTHROW(split.verify_contents(pipeline.resources));
      REQUIRE(texts_of(split) == wanted);
      const auto forward = forward_phrases(split);
      for (docid_t document = 0; document < split.num_documents(); ++document) {
        auto from_text = phrases_of(wanted[document]), from_lists = forward[document];
        for (auto* phrases : {&from_text, &from_lists})
          for (Phrases& stream : *phrases)
            if (!stream.empty() && stream.back().empty()) stream.pop_back();
        // A title is one line.
        std::vector<std::string> title;
        for (const auto& phrase : from_lists[0]) title.insert(title.end(), phrase.begin(), phrase.end());
        REQUIRE(from_text[0] == (title.empty() ? Phrases() : Phrases{title}));
        REQUIRE(from_text[1] == from_lists[1]);
      }
    }
  }
}

TEST_CASE("A collection with texts has the same documents, lists and index as one without",
          "[collection][texts][index]") {
  Pipeline pipeline;
  const std::string corpus = pages_with_texts(23, 80);
  const CollectionReader plain(pipeline.parse(corpus)), kept(parse_with_texts(pipeline, corpus));
  CHECK_FALSE(plain.has_texts());
  CHECK_FALSE(plain.container().has("text_rows"));
  CHECK(kept.has_texts());
  ChunkBuffers buffers;
  CHECK_THROWS_AS(plain.texts(0, buffers), InvalidArgument);
  const std::vector<std::string> differing = {"chunk_data", "chunks", "text_rows", "manifest"};
  CHECK(sections_without(plain.container(), differing) == sections_without(kept.container(), differing));
  CHECK(forward_phrases(plain) == forward_phrases(kept));
  const DocumentOrder order = pipeline.order(plain, OrderBy::url);
  CHECK(order.documents == pipeline.order(kept, OrderBy::url).documents);
  const StageFile plain_index = pipeline.build(plain, order, {}), kept_index = pipeline.build(kept, order, {});
  CHECK(sections_without(Pipeline::open_index(plain_index).container(), {"manifest"}) ==
        sections_without(Pipeline::open_index(kept_index).container(), {"manifest"}));
  CHECK_THROWS_AS(pipeline.texts(plain, order), InvalidArgument);
}

TEST_CASE("The texts of an index are those of its documents, in every order", "[texts][index][property]") {
  Pipeline pipeline;
  const std::string corpus = pages_with_texts(24, 200);
  const ChunkLimits all_limits[] = {{}, {50, 400}};
  for (const ChunkLimits& limits : all_limits) {
    const CollectionReader collection(parse_with_texts(pipeline, corpus, limits));
    const std::vector<std::string> wanted = texts_of(collection);
    for (const NamedValue<OrderBy>& by : order_names) {
      INFO("order " << by.name);
      const DocumentOrder order = pipeline.order(collection, by.value, 5);
      const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
      const TextsReader texts = Pipeline::open_texts(pipeline.texts(collection, order));
      CHECK(texts.manifest().text_bytes == collection.manifest().text_bytes);
      CHECK_NOTHROW(texts.check_belongs_to(index));
      CHECK_NOTHROW(texts.container().verify(pipeline.resources));
      CHECK_NOTHROW(verify_texts(texts, index, pipeline.resources));
      for (docid_t docid = 0; docid < index.num_documents(); ++docid)
        REQUIRE(texts.text(docid) == wanted[order.documents[docid]]);
    }
  }
}

TEST_CASE("Texts have the same bytes for any threads and memory", "[texts][collection][index][property]") {
  // More than the smallest budget sorts in memory, with documents of several frames.
  std::string corpus = pages_with_texts(25, 300);
  RandomBits random(26);
  for (int page = 0; page < 60; ++page) {
    corpus += "<DOC>\n<DOCNO>L-" + std::to_string(page) + "</DOCNO>\n<DOCHDR>\nhttp://s" + std::to_string(page % 3) +
              ".example/l" + std::to_string(page) + "\n</DOCHDR>\n";
    for (std::uint64_t i = random.below(60'000); i > 0; --i) corpus += "word" + std::to_string(random.below(900)) + " ";
    corpus += "\n</DOC>\n";
  }
  Bytes collection_bytes, texts_bytes;
  for (const unsigned threads : {1u, 3u}) {
    for (const std::uint64_t memory : {std::uint64_t{17} << 20, std::uint64_t{1} << 30}) {
      INFO(threads << " threads, " << memory << " bytes of memory");
      Pipeline pipeline;
      pipeline.batch_bytes = 1 << 18;
      pipeline.resources.threads = threads;
      pipeline.resources.memory_bytes = memory;
      const StageFile file = parse_with_texts(pipeline, corpus, {1 << 17, 1 << 18});
      const CollectionReader collection(file);
      REQUIRE(!collection.split_documents().empty());
      REQUIRE(*collection.manifest().text_bytes > 9 << 20);
      const DocumentOrder order = pipeline.order(collection, OrderBy::url);
      pipeline.build(collection, order, {});
      const Bytes texts = bytes_of(*pipeline.texts(collection, order));
      if (texts_bytes.empty()) {
        texts_bytes = texts;
        collection_bytes = bytes_of(*file);
      }
      CHECK(bytes_of(*file) == collection_bytes);
      CHECK(texts == texts_bytes);
    }
  }
}

TEST_CASE("Texts of another index are refused, and texts of other documents are detected", "[texts][index][damage]") {
  Pipeline pipeline;
  const CollectionReader collection(parse_with_texts(pipeline, pages_with_texts(27, 50)));
  const DocumentOrder order = pipeline.order(collection, OrderBy::random, 3);
  BuildOptions options;
  options.codec = "rice";
  const IndexReader other = Pipeline::open_index(pipeline.build(collection, order, options));
  const IndexReader index = Pipeline::open_index(pipeline.build(collection, order, {}));
  const TextsReader texts = Pipeline::open_texts(pipeline.texts(collection, order));
  CHECK_NOTHROW(verify_texts(texts, index, pipeline.resources));
  CHECK_THROWS_AS(texts.check_belongs_to(other), InvalidArgument);
  CHECK_THROWS_AS(verify_texts(texts, other, pipeline.resources), InvalidArgument);
  // Valid by itself, but in a different order than its index.
  const TextsReader shuffled =
      Pipeline::open_texts(pipeline.texts(collection, pipeline.order(collection, OrderBy::random, 4)));
  CHECK_NOTHROW(shuffled.verify_contents(pipeline.resources));
  CHECK_THROWS_AS(verify_texts(shuffled, index, pipeline.resources), CorruptFile);
}

TEST_CASE("Damaged texts of a collection are refused or give a valid file", "[texts][collection][damage]") {
  Pipeline pipeline;
  pipeline.batch_bytes = 1 << 20;
  const StageFile file = parse_with_texts(pipeline, pages_with_texts(28, 12));
  const ContainerReader container(file, FileKind::collection);
  const CollectionReader collection(file);
  REQUIRE(collection.num_chunks() == 1);
  const DocumentOrder order = pipeline.order(collection, OrderBy::random, 3);
  const Sections sound = sections_of(container);
  const ChunkRow& row = collection.chunk(0);
  const std::size_t texts_at = row.sizes[0] + row.sizes[1] + row.sizes[2];
  ZstdDecompressor decompressor;
  ZstdCompressor compressor;
  Bytes raw;
  decompressor.decompress(container.view("chunk_data").subspan(texts_at),
                          row.raw_sizes[static_cast<std::size_t>(ChunkPiece::texts)], raw, "test");
  RandomBits random(29);
  std::size_t sizes_changed = 0, refused = 0, taken = 0;
  for (int turn = 0; turn < 300; ++turn) {
    Bytes changed = raw;
    // Half of the changes affect sizes, and some shorten the piece.
    const std::size_t at = random.below(turn % 2 == 0 ? 12 : changed.size());
    changed[at] ^= static_cast<std::uint8_t>(1u << random.below(8));
    if (turn % 10 == 0) changed.resize(random.below(changed.size()));
    Sections damaged = sound;
    for (auto& [name, bytes] : damaged) {
      if (name == "chunk_data") {
        bytes.resize(texts_at);
        compressor.append(changed, bytes);
      }
    }
    for (auto& [name, bytes] : damaged) {
      if (name != "text_rows") continue;
      bytes.clear();
      put_le(bytes, static_cast<std::uint32_t>(damaged[0].second.size() - texts_at));
      put_le(bytes, static_cast<std::uint32_t>(changed.size()));
    }
    const CollectionReader read(
        std::make_shared<const File>(container_file(pipeline.resources.tmp_folder, FileKind::collection, damaged)));
    bool is_sound = true;
    try {
      read.verify_contents(pipeline.resources);
    } catch (const CorruptFile&) {
      is_sound = false;
    }
    sizes_changed += !is_sound;
    try {
      pipeline.report.index_hash = "0123456789abcdef";
      const TextsReader texts = Pipeline::open_texts(pipeline.texts(read, order));
      CHECK_NOTHROW(texts.verify_contents(pipeline.resources));
      ++taken;
    } catch (const CorruptFile&) {
      CHECK_FALSE(is_sound);
      ++refused;
    }
  }
  CHECK(sound.front().first == "chunk_data");
  CHECK(sizes_changed > 30);
  CHECK(refused > 30);
  CHECK(taken > 30);
}

}  // namespace quern
