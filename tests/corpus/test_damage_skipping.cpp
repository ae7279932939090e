#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/corpus/corpus_files.hpp"
#include "quern/corpus/corpus_reader.hpp"

#include "catch.hpp"
#include "compressing.hpp"
#include "index/pipeline/crawl.hpp"
#include "temporary_folder.hpp"

/// Reading continues after damage in gzip files.
using namespace quern;
using namespace quern::testing;

namespace {

/// The segments of a file, each followed by its damage in brackets: the offset, and the intact bytes of the segment.
std::string segments_of(const std::string& stored, std::size_t step = 1000) {
  const std::unique_ptr<DamageSkippingSource> source = DamageSkippingSource::from_memory("test.gz", stored);
  std::string shown, piece(step, '\0');
  for (;;) {
    const std::size_t got = source->read({reinterpret_cast<std::uint8_t*>(piece.data()), step});
    shown.append(piece, 0, got);
    if (got > 0) continue;
    const std::optional<GzipDamage> damage = source->take_damage();
    if (!damage) return shown;
    shown += "[" + std::to_string(damage->stored_offset) + ":" + std::to_string(damage->sound_bytes) + "]";
  }
}

std::string with_wrong_byte(std::string member, std::size_t at) {
  member[at] = static_cast<char>(member[at] ^ 0x55);
  return member;
}

struct ReadFiles {
  std::vector<std::string> records, bad;  ///< "offset: reason", after "stored" if the offset is in the stored file
  std::uint64_t skipped_files = 0;
};

ReadFiles read_files(const std::vector<std::string>& paths, std::size_t max_in_memory = 1 << 20, bool skip_bad = true) {
  CorpusOptions options;
  options.skip_bad = skip_bad;
  options.max_in_memory = max_in_memory;
  CorpusReader reader(find_corpus_files(paths, {}, default_resources()), options, default_resources());
  ReadFiles read;
  for (RecordBatch batch; reader.next(batch);) {
    for (const RecordSpan& record : batch.records) {
      std::string text;
      const std::unique_ptr<PieceSource> pieces = batch.text(record).pieces();
      for (std::string_view piece = pieces->next(); !piece.empty(); piece = pieces->next()) text += piece;
      read.records.push_back(std::move(text));
    }
    for (const BadRecord& bad : batch.bad)
      read.bad.push_back((bad.in_stored_file ? "stored " : "") + std::to_string(bad.file_offset) + ": " + bad.reason);
  }
  read.skipped_files = reader.num_skipped_files();
  return read;
}

std::string without_gap(const std::string& record) { return record.substr(0, record.size() - 4); }

}  // namespace

TEST_CASE("Reading continues after truncated, damaged or foreign members", "[corpus][damage]") {
  const std::string a = gzipped("first "), b = gzipped("second "), c = gzipped("third");
  const std::string at = std::to_string(a.size());
  CHECK(segments_of(a + b + c) == "first second third");
  CHECK(segments_of("plain") == "plain");
  CHECK(segments_of(zstd_packed("packed")) == "packed");
  CHECK(segments_of(a + c + std::string(700, '\0')) == "first third");
  CHECK(segments_of(a + "<html>" + c) == "first [" + at + ":6]third");
  CHECK(segments_of(a + std::string(9, '\0') + "junk" + c) == "first [" + std::to_string(a.size() + 9) + ":6]third");
  CHECK(segments_of(a + with_wrong_byte(b, b.size() - 6) + c) == "first second [" + at + ":6]third");
  CHECK(segments_of(a + b + with_wrong_byte(c, c.size() - 2)) ==
        "first second third[" + std::to_string((a + b).size()) + ":13]");
  CHECK(segments_of(a + "junk") == "first [" + at + ":6]");
  for (std::size_t size = 4; size < b.size(); ++size) {
    INFO("cut after " << size);
    for (const std::string& rest : {c, std::string()}) {
      const std::string shown = segments_of(a + b.substr(0, size) + rest);
      CHECK(shown.find("first ") == 0);
      CHECK(shown.find("[" + at + ":6]") != std::string::npos);
      if (!rest.empty()) CHECK(shown.substr(shown.size() - 6) == "]third");
    }
  }
}

TEST_CASE("Skipping damage does not depend on the size of reads, and takes linear time", "[corpus][damage][property]") {
  RandomBits random(3);
  std::string stored;
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (std::uint64_t words = random.below(20000); words > 0; --words)
      text += "w" + std::to_string(random.below(3000));
    std::string member = gzipped(text);
    if (random.below(3) == 0) member = with_wrong_byte(member, 10 + random.below(member.size() - 10));
    if (random.below(5) == 0) member.resize(10 + random.below(member.size() - 10));
    stored += member;
  }
  const std::string shown = segments_of(stored);
  CHECK(std::count(shown.begin(), shown.end(), '[') > 10);
  for (const std::size_t step : {std::size_t{61}, std::size_t{1} << 20}) CHECK(segments_of(stored, step) == shown);
  std::string begins = gzipped("x");
  while (begins.size() < (1 << 20)) begins += std::string("\x1f\x8b\x08\0", 4);
  CHECK(segments_of(begins).substr(0, 2) == "x[");
}

TEST_CASE("A damaged member costs its own record and no other", "[corpus][damage]") {
  const TemporaryFolder folder;
  std::vector<std::string> pages;
  for (int i = 0; i < 5; ++i) {
    std::string text = "page " + std::to_string(i);
    for (int word = 0; word < 400; ++word) text += " " + std::to_string(word * (i + 7) % 1013);
    pages.push_back(crawled_page(std::to_string(i), text));
  }
  std::string sound[5];
  for (int i = 0; i < 5; ++i) sound[i] = gzipped(pages[static_cast<std::size_t>(i)]);
  const std::size_t half = sound[2].size() / 2;
  const auto read = [&](const std::string& third, std::size_t max_in_memory = 1 << 20) {
    return read_files({folder.write("crawl.warc.gz", sound[0] + sound[1] + third + sound[3] + sound[4])},
                      max_in_memory);
  };
  const std::vector<std::string> others = {without_gap(pages[0]), without_gap(pages[1]), without_gap(pages[3]),
                                           without_gap(pages[4])};
  const std::string at = "stored " + std::to_string(sound[0].size() + sound[1].size()) + ": ";
  for (const std::string& third : {with_wrong_byte(sound[2], sound[2].size() - 6), with_wrong_byte(sound[2], half),
                                   sound[2].substr(0, half), sound[2].substr(0, 12), std::string(3000, '\xee')}) {
    for (const std::size_t max_in_memory : {1 << 20, 100, 0}) {
      const ReadFiles without_third = read(third, max_in_memory);
      CHECK(without_third.records == others);
      REQUIRE(without_third.bad.size() == 1);
      CHECK(without_third.bad[0].find(at) == 0);
    }
  }
  CHECK(read("junk" + sound[2]).records.size() == 5);
  CHECK(read("junk" + sound[2]).bad.size() == 1);
  CHECK_THROWS_AS(read_files({folder.path("crawl.warc.gz")}, 1 << 20, false), CorruptFile);
}

TEST_CASE("Damage at a file's start, at its end and in every member is skipped", "[corpus][damage]") {
  const TemporaryFolder folder;
  const std::string page = crawled_page("1", "mill"), packed = gzipped(page), cut = packed.substr(0, 30);
  const std::string before = folder.write("a", gzipped(crawled_page("0", "x")));
  const ReadFiles front = read_files({before, folder.write("b", cut + packed)});
  CHECK(front.records.size() == 2);
  CHECK(front.bad.size() == 1);
  CHECK(front.skipped_files == 0);
  const ReadFiles end = read_files({before, folder.write("b", packed + packed + packed.substr(0, packed.size() - 9))});
  CHECK(end.records.size() == 3);
  CHECK(end.bad.size() == 1);
  const ReadFiles all = read_files({before, folder.write("b", cut + cut + cut), folder.write("c", packed)});
  CHECK(all.records.size() == 2);
  CHECK(all.bad.size() == 3);
}

TEST_CASE("The record before a damaged member is complete, however short that member's output", "[corpus][damage]") {
  const TemporaryFolder folder;
  const std::string page = crawled_page("1", "mill"), begin = "WARC/1.0\r\nWARC-Type: response";
  for (std::size_t size = 0; size <= begin.size(); ++size) {
    std::string member = gzipped(begin.substr(0, size));
    member[member.size() - 6] = static_cast<char>(member[member.size() - 6] ^ 1);
    for (const std::size_t max_in_memory : {1 << 20, 0}) {
      const ReadFiles read =
          read_files({folder.write("crawl.warc.gz", gzipped(page) + member + gzipped(page))}, max_in_memory);
      INFO(size);
      REQUIRE(read.records.size() == 2);
      CHECK(read.records[0].substr(0, page.size() - 4) == without_gap(page));
      CHECK(read.bad.size() == 1);
    }
  }
}

TEST_CASE("Complete records before damage in the same member stay", "[corpus][damage]") {
  const TemporaryFolder folder;
  std::string all;
  for (int i = 0; i < 50; ++i) all += crawled_page(std::to_string(i), std::string(100, 'x'));
  std::string packed = gzipped(all);
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);
  const ReadFiles read = read_files({folder.write("crawl.warc.gz", packed + gzipped(crawled_page("last", "y")))});
  CHECK(read.records.size() == 50);  // 49 of the damaged member, and the last
  CHECK(read.bad.size() == 1);
}

TEST_CASE("Skipping bad records also skips files of unknown formats", "[corpus][damage]") {
  const TemporaryFolder folder;
  const ReadFiles read = read_files({folder.write("1.warc.gz", "<html>503 Slow Down</html>"),
                                     folder.write("2.warc.gz", gzipped(crawled_page("1", "mill")))});
  CHECK(read.records.size() == 1);
  CHECK(read.skipped_files == 1);
}
