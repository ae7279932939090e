#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include "quern/core/bytes.hpp"
#include "quern/core/random.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/index/verify_index.hpp"

#include "catch.hpp"
#include "index/pipeline/index_sections.hpp"
#include "index/pipeline/model_index.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/weighted_corpus.hpp"

/// Damage with recomputed checksums: verify must find it in the contents.
namespace quern {
namespace {

using namespace testing;

/// The lists of an index, read by cursors.
std::map<std::string, std::vector<ModelPosting>> lists_of(const IndexReader& index) {
  std::map<std::string, std::vector<ModelPosting>> lists;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      auto& postings = lists[std::string(term)];
      for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next())
        postings.push_back({cursor.docid(), cursor.freq()});
    });
  }
  return lists;
}

class DamagedIndex {
 public:
  DamagedIndex(const CorpusShape& shape, const BuildOptions& options) {
    build(pipeline_.parse(as_jsonl(random_corpus(71, shape))), options);
  }
  /// An index with given weights.
  DamagedIndex(const std::vector<WeightedDocument>& documents, const ImpactSettings& settings,
               const BuildOptions& options) {
    build(parse_weights(pipeline_, as_vector_jsonl(documents), settings), options);
  }

  const IndexReader& sound() const { return *index_; }
  Bytes& section(std::string_view name) { return sections_->section(name); }

  /// Whether opening or verifying the current sections finds the damage.
  bool is_found() {
    try {
      verify_index(reopened(), pipeline_.resources);
      return false;
    } catch (const CorruptFile& error) {
      message = error.what();
      return true;
    }
  }
  /// Whether the lists are unchanged.
  bool lists_are_same() { return lists_of(reopened()) == lists_; }

  /// For each of the given numbers of a section: changes it, calls check(), and restores it.
  template <class Number>
  void with_each_changed(std::string_view name, std::size_t step, const std::function<Number(Number)>& change,
                         const std::function<void()>& check) {
    Bytes& bytes = section(name);
    REQUIRE(bytes.size() >= sizeof(Number));
    for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += step * sizeof(Number)) {
      INFO(name << ": number " << at / sizeof(Number));
      const auto before = load_le<Number>(bytes.data() + at);
      store_le(bytes.data() + at, change(before));
      check();
      store_le(bytes.data() + at, before);
    }
  }

  std::string message;

 private:
  void build(const StageFile& file, const BuildOptions& options) {
    const CollectionReader collection(file);
    index_.emplace(Pipeline::open_index(pipeline_.build(collection, pipeline_.order(collection), options)));
    sections_.emplace(index_->container());
    lists_ = lists_of(*index_);
  }
  IndexReader reopened() const { return sections_->open(pipeline_); }

  Pipeline pipeline_;
  std::optional<IndexReader> index_;
  std::optional<IndexSections> sections_;
  std::map<std::string, std::vector<ModelPosting>> lists_;
};

BuildOptions blocks_of_64(const std::string& codec) {
  BuildOptions options;
  options.codec = codec;
  options.codec_options.block_size = 64;
  return options;
}

}  // namespace

TEST_CASE("a block whose docIDs descend is refused before they are used", "[index][query]") {
  const unsigned n = 64;
  const DamagedIndex damaged({4000, 300, 12, false}, blocks_of_64("newpfd"));
  PostingList list;
  for (std::uint64_t block = 0; block < damaged.sound().num_lexicon_blocks(); ++block)
    damaged.sound().for_each_list(block, [&](std::string_view, const PostingList& each) {
      if (each.block_last.size() == 3) list = each;
    });
  REQUIRE(list.df > 0);
  // A gap of 2^32 - 9 moves back by eight documents; all docIDs stay below the block's last, which is unchanged.
  std::vector<std::uint32_t> gaps(n, 0);
  const std::vector<std::uint32_t> freqs(n, 0);
  gaps[20] = 0u - 9;
  gaps[n - 1] = list.block_last[1] - list.block_last[0] - (n - 9);
  REQUIRE(gaps[n - 1] < 4000);
  const auto encoder = codec_named("newpfd").make_encoder({n, 1});
  Words falling;
  encoder->start_list();
  encoder->put_block(gaps, freqs, falling);

  const WordView front = list.words.first(list.block_offset[1]), back = list.words.subspan(list.block_offset[2]);
  const std::uint32_t offsets[] = {list.block_offset[0], list.block_offset[1],
                                   static_cast<std::uint32_t>(front.size() + falling.size())};
  Words words(front.begin(), front.end());
  words.insert(words.end(), falling.begin(), falling.end());
  words.insert(words.end(), back.begin(), back.end());
  const std::size_t size = words.size();
  words.resize(size + over_read_bytes / 4);
  list.words = WordView(words).first(size);
  list.block_offset = offsets;
  BlockReader reader(damaged.sound(), list);
  CHECK_NOTHROW(reader.load(0));
  CHECK_THROWS_WITH(reader.load(1), Catch::Contains("do not ascend"));
  CHECK_NOTHROW(reader.load(2));
}

TEST_CASE("verify finds every wrong block row, length and docno position", "[index][property]") {
  DamagedIndex damaged({300, 60, 30, false}, blocks_of_64("newpfd"));
  REQUIRE_FALSE(damaged.is_found());
  const auto must_find = [&] { CHECK(damaged.is_found()); };
  for (const std::uint32_t difference : {1u, 0xffffffffu, 0x80000000u}) {
    const auto change = [&](std::uint32_t number) { return number + difference; };
    damaged.with_each_changed<std::uint32_t>("block_last", 1, change, must_find);
    damaged.with_each_changed<std::uint32_t>("block_offset", 1, change, must_find);
    damaged.with_each_changed<std::uint32_t>("lengths", 7, change, must_find);
    damaged.with_each_changed<std::uint32_t>("docno_lookup", 7, change, must_find);
  }
  for (const std::uint16_t difference : {1, 0xffff}) {
    damaged.with_each_changed<std::uint16_t>(
        "block_max", 1, [&](std::uint16_t number) { return static_cast<std::uint16_t>(number + difference); },
        must_find);
  }
  CHECK_FALSE(damaged.is_found());
}

TEST_CASE("verify finds every wrong quantized impact, width and position of impacts", "[index][quantized][property]") {
  BuildOptions options = blocks_of_64("newpfd");
  options.quantize_bits = 6;
  DamagedIndex damaged({300, 60, 30, false}, options);
  REQUIRE_FALSE(damaged.is_found());
  const auto must_find = [&] { CHECK(damaged.is_found()); };
  Bytes& impacts = damaged.section("impacts");
  // Verify checks everything except the zeros after the last list, which only checksums cover.
  for (std::size_t at = 0; at < impacts.size() - over_read_bytes; at += 5) {
    INFO("byte " << at);
    impacts[at] ^= static_cast<std::uint8_t>(1u << at % 8);
    CHECK(damaged.is_found());
    CHECK(damaged.message.find("section 'impacts': list ") != std::string::npos);
    CHECK(damaged.message.find(", block ") != std::string::npos);
    impacts[at] ^= static_cast<std::uint8_t>(1u << at % 8);
  }
  for (const std::uint8_t difference : {1, 0xff, 0x80}) {
    damaged.with_each_changed<std::uint8_t>(
        "impact_width", 3, [&](std::uint8_t width) { return static_cast<std::uint8_t>(width + difference); },
        must_find);
  }
  for (const std::uint64_t difference : {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 62}) {
    damaged.with_each_changed<std::uint64_t>(
        "impact_start", 3, [&](std::uint64_t start) { return start + difference; }, must_find);
  }
  CHECK_FALSE(damaged.is_found());
  impacts.resize(impacts.size() + 4);
  CHECK(damaged.is_found());
}

TEST_CASE("verify finds every wrong weight that the corpus gave", "[index][impacts][property]") {
  DamagedIndex damaged(random_weights(71, 300, 60, 255), {8}, blocks_of_64("newpfd"));
  REQUIRE_FALSE(damaged.is_found());
  Bytes& impacts = damaged.section("impacts");
  for (std::size_t at = 0; at < impacts.size() - over_read_bytes; at += 3) {
    INFO("byte " << at);
    impacts[at] ^= static_cast<std::uint8_t>(1u << at % 8);
    CHECK(damaged.is_found());
    impacts[at] ^= static_cast<std::uint8_t>(1u << at % 8);
  }
  CHECK_FALSE(damaged.is_found());
}

TEST_CASE("a weight of 0, or of too many bits, is damage", "[index][impacts]") {
  std::vector<WeightedDocument> documents(70);
  for (WeightedDocument& document : documents) document = {{"mill", 9}};
  documents[7]["flour"] = 255;
  DamagedIndex damaged(documents, {8}, blocks_of_64("newpfd"));
  // The first weight of the one long list, in four bits.
  damaged.section("impacts")[0] &= 0xf0;
  CHECK_THROWS_WITH(damaged.lists_are_same(), Catch::Contains("section 'impacts': list 1, block 0: a weight is 0"));
  CHECK(damaged.is_found());
  damaged.section("impacts")[0] |= 9;
  REQUIRE_FALSE(damaged.is_found());
  // Seven bits instead of eight.
  Bytes& manifest = damaged.section("manifest");
  std::string text(as_text(manifest));
  const std::size_t bits = text.find("\"bits\": 8");
  REQUIRE(bits != text.npos);
  text[bits + 8] = '7';
  manifest.assign(text.begin(), text.end());
  REQUIRE(damaged.is_found());
  CHECK_THAT(damaged.message, Catch::Contains("has a weight with more bits than the manifest says") &&
                                  Catch::Contains("(the list of 'flour')"));
}

TEST_CASE("opening or verifying finds a wrong scale of quantized impacts", "[index][quantized]") {
  BuildOptions options = blocks_of_64("newpfd");
  options.quantize_bits = 6;
  DamagedIndex damaged({300, 60, 30, false}, options);
  const Bytes sound = damaged.section("manifest");
  const std::string text(as_text(sound));
  const auto set = [&](const std::string& key, const std::string& value) {
    const std::size_t from = text.find("\"" + key + "\": ") + key.size() + 4, to = text.find_first_of(",\n", from);
    REQUIRE(from < to);
    const std::string changed = text.substr(0, from) + value + text.substr(to);
    damaged.section("manifest") = Bytes(changed.begin(), changed.end());
  };
  for (const char* bits : {"1", "5", "7", "16", "17", "400"}) {
    set("quantize_bits", bits);
    INFO(bits << " bits");
    CHECK(damaged.is_found());
  }
  for (const char* top : {"-1", "0", "1e-30", "1e30", "1e300", "5"}) {
    set("quantize_top", top);
    INFO("top " << top);
    CHECK(damaged.is_found());
  }
}

TEST_CASE("verify finds a docno position that was assigned to its duplicate", "[index]") {
  DamagedIndex damaged({200, 60, 10, true}, blocks_of_64("newpfd"));
  REQUIRE_FALSE(damaged.is_found());
  Bytes& lookup = damaged.section("docno_lookup");
  std::size_t pairs = 0;
  for (std::size_t at = 4; at < lookup.size(); at += 4) {
    const auto before = load_le<docid_t>(lookup.data() + at - 4), docid = load_le<docid_t>(lookup.data() + at);
    if (damaged.sound().docno(before) != damaged.sound().docno(docid)) continue;
    ++pairs;
    CHECK(before < docid);
    store_le(lookup.data() + at, before);
    CHECK(damaged.is_found());
    store_le(lookup.data() + at, docid);
  }
  CHECK(pairs > 5);
}

TEST_CASE("verify finds docnos that were changed or moved", "[index]") {
  DamagedIndex damaged({300, 60, 10, false}, blocks_of_64("newpfd"));
  const auto must_find = [&] { CHECK(damaged.is_found()); };
  damaged.with_each_changed<std::uint8_t>(
      "docnos", 211, [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ 3); }, must_find);
  for (const char* section : {"docno_offsets", "text_offsets"}) {
    damaged.with_each_changed<std::uint64_t>(
        section, 1, [](std::uint64_t offset) { return offset + 1; }, must_find);
    damaged.with_each_changed<std::uint64_t>(
        section, 1, [](std::uint64_t offset) { return offset + (std::uint64_t{1} << 40); }, must_find);
  }
}

TEST_CASE("a bit that flips in the postings is found, or changes nothing", "[index][codec][property]") {
  for (const Codec* codec : all_codecs()) {
    DamagedIndex damaged({300, 40, 30, false}, blocks_of_64(std::string(codec->name)));
    INFO(codec->name);
    RandomBits random(83);
    Bytes& postings = damaged.section("postings");
    const std::size_t bits = (postings.size() - over_read_bytes) * 8;
    int found = 0;
    constexpr int tries = 300;
    for (int i = 0; i < tries; ++i) {
      const std::size_t bit = random.below(bits);
      INFO("bit " << bit);
      postings[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      if (damaged.is_found()) {
        ++found;
      } else {
        CHECK(damaged.lists_are_same());
      }
      postings[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    }
    CHECK(found > tries * 4 / 5);
  }
}

TEST_CASE("a flipped bit in the lexicon's data about lists is found, or changes nothing", "[index][property]") {
  DamagedIndex damaged({300, 200, 30, false}, blocks_of_64("rice"));
  Bytes& bytes = damaged.section("lexicon");
  const ByteView mapped = damaged.sound().container().view("lexicon");
  const TermDictionary lexicon(damaged.sound().container(), "lexicon", damaged.sound().manifest().terms);
  int flips = 0, found = 0;
  for (std::uint64_t i = 0; i < lexicon.num_blocks(); ++i) {
    DictionaryBlock block = lexicon.block(i);
    for (DictionaryEntry entry; block.next(entry);) {
      const auto from = static_cast<std::size_t>(entry.payload.data() - mapped.data());
      for (std::size_t bit = 0; bit < entry.payload.size() * 8; bit += 5, ++flips) {
        INFO("payload of '" << entry.term << "', bit " << bit);
        std::uint8_t& byte = bytes[from + bit / 8];
        byte ^= static_cast<std::uint8_t>(1u << bit % 8);
        if (damaged.is_found()) {
          ++found;
        } else {
          CHECK(damaged.lists_are_same());
        }
        byte ^= static_cast<std::uint8_t>(1u << bit % 8);
      }
    }
  }
  CHECK(flips > 300);
  CHECK(found > flips * 4 / 5);
}

TEST_CASE("verify finds terms out of order and counts that differ from the manifest's", "[index]") {
  DamagedIndex damaged({100, 60, 20, false}, blocks_of_64("newpfd"));
  const Bytes lexicon = damaged.section("lexicon");
  // The first term of a block is stored in full after a zero and its length.
  damaged.section("lexicon")[2] = 'z';
  CHECK(damaged.is_found());
  damaged.section("lexicon") = lexicon;
  for (const char* key : {"documents", "terms", "postings", "tokens", "blocks", "empty_documents", "short_lists"}) {
    INFO(key);
    Bytes& manifest = damaged.section("manifest");
    const Bytes before = manifest;
    std::string text(as_text(manifest));
    const std::size_t counts = text.find("\"counts\"");
    const std::size_t at = text.find("\"" + std::string(key) + "\": ", counts);
    REQUIRE(at != text.npos);
    std::size_t digit = text.find_first_of(",\n", at) - 1;
    text[digit] = text[digit] == '9' ? '8' : static_cast<char>(text[digit] + 1);
    manifest.assign(text.begin(), text.end());
    CHECK(damaged.is_found());
    damaged.section("manifest") = before;
  }
  CHECK_FALSE(damaged.is_found());
}

TEST_CASE("verify's errors name the section, the list and the block", "[index]") {
  DamagedIndex damaged({300, 40, 10, false}, blocks_of_64("newpfd"));
  ++damaged.section("block_last")[0];
  REQUIRE(damaged.is_found());
  CHECK(damaged.message.find("section 'block_last'") != std::string::npos);
  CHECK(damaged.message.find("block 0") != std::string::npos);
  CHECK(damaged.message.find("the list of '") != std::string::npos);
}

}  // namespace quern
