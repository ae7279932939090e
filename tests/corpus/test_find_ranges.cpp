#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/corpus/corpus_reader.hpp"

#include "catch.hpp"
#include "compressing.hpp"
#include "sanitized.hpp"
#include "temporary_folder.hpp"

/// Ranges of a file contain the records of the file, whatever its content.
namespace quern {
namespace {

using namespace testing;

struct PlacedRecord {
  std::uint64_t offset;
  std::string text, format;
  bool operator==(const PlacedRecord&) const = default;
};

std::vector<PlacedRecord> records_of(const std::string& path, const CorpusOptions& options,
                                     const std::optional<FileRange>& range = std::nullopt) {
  CorpusFiles files = find_corpus_files({path}, {}, default_resources());
  if (range) files.choose_range(*range);
  CorpusReader reader(std::move(files), options, default_resources());
  std::vector<PlacedRecord> records;
  RecordBatch batch;
  while (reader.next(batch)) {
    for (const RecordSpan& record : batch.records) {
      std::string text;
      const RecordText whole = batch.text(record);
      const std::unique_ptr<PieceSource> pieces = whole.pieces();
      for (std::string_view piece = pieces->next(); !piece.empty(); piece = pieces->next()) text += piece;
      records.push_back({record.file_offset, text, std::string(record.format->name)});
    }
  }
  return records;
}

/// Compares all ranges with the whole file; returns the number of ranges.
std::size_t check_ranges(const std::string& path, std::size_t count, const CorpusOptions& options) {
  const std::vector<PlacedRecord> whole = records_of(path, options);
  if (whole.empty()) {
    CHECK_THROWS_AS(find_ranges(path, count, options, default_resources()), InvalidArgument);
    return 0;
  }
  const std::vector<FileRange> ranges = find_ranges(path, count, options, default_resources());
  CHECK(ranges.size() <= count);
  CHECK(ranges.front().from == 0);
  std::vector<PlacedRecord> in_ranges;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    CHECK((i == 0 || ranges[i].from == ranges[i - 1].to));
    const std::vector<PlacedRecord> records = records_of(path, options, ranges[i]);
    CHECK(!records.empty());
    in_ranges.insert(in_ranges.end(), records.begin(), records.end());
  }
  CHECK((in_ranges == whole));
  return ranges.size();
}

/// Pieces of test files: records and similar text.
struct Soup {
  std::string format;
  std::vector<std::string> pieces;
};

std::string warc_record(const std::string& block, std::size_t length) {
  return "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" + block +
         "\r\n\r\n";
}

std::vector<Soup> soups() {
  return {
      {"trectext",
       {"<DOC>\n<DOCNO>a</DOCNO>\n<TEXT>some words</TEXT>\n</DOC>\n", "<doc>\n<docno>b</docno>\nx </doc> y\n</doc>",
        "<DOC>\n<DOCNO>no end</DOCNO>\n", "junk between\n", "</DOC>\n", "<!-- <DOC> in a comment -->\n", "<!--", "-->",
        "<DOC ", "\n", " ", "<file>\n", "</file>"}},
      {"trecweb",
       {"<DOC>\n<DOCNO>a</DOCNO>\n<DOCHDR>\nhttp://a.example/\n</DOCHDR>\n<p>page</p>\n</DOC>\n",
        "<DOC>\n<DOCNO>b</DOCNO>\n<DOCHDR>\nhttp://b.example/\n</DOCHDR>\nquotes </DOC> and <DOC> here\n</DOC>\n",
        "\n<DOC>\n", "</DOC>", "text\n"}},
      {"warc",
       {warc_record("block", 5), warc_record("WARC/1.0\r\nin a block", 20), warc_record("wrong length", 100),
        warc_record("short", 2), warc_record("", 0), "junk\r\n", "\r\n", "WARC/1.0\r\nContent-Length: 99999\r\n\r\n"}},
      {"jsonl",
       {"{\"id\":\"1\",\"contents\":\"a b\"}\n", "{\n \"id\": \"2\",\n \"x\": {\n}\n}\n", "{\"id\":\"3\"},\n", "[", "]",
        ",", "\n", "{\"id\":\"}{\"}", "{\"cut", "\n{}\n", "junk\n"}},
      {"tsv", {"1\tsome text\n", "2\thttp://a.example/\ttitle\ttext\r\n", "\n", "\r\n", "no tab\n", "last"}}};
}

}  // namespace

TEST_CASE("ranges of a file have its records, for any bytes between them", "[corpus][property]") {
  const TemporaryFolder folder;
  std::size_t several = 0;
  for (const Soup& soup : soups()) {
    CorpusOptions options;
    options.format = soup.format;
    for (std::uint64_t seed = 0; seed < rounds(150); ++seed) {
      RandomBits random(seed);
      std::string text;
      // Half of the files contain mostly intact records.
      const std::uint64_t sound = seed % 2 == 0 ? 2 : soup.pieces.size();
      for (std::uint64_t n = random.below(30); n > 0; --n)
        text += soup.pieces[random.below(random.below(4) == 0 ? soup.pieces.size() : sound)];
      const std::string path = folder.write("file", text);
      for (const std::size_t count : {1u, 2u, 3u, 7u, 1000u}) {
        INFO(soup.format << ", seed " << seed << ", " << count << " ranges of:\n" << text);
        several += check_ranges(path, count, options) > 1;
      }
    }
  }
  CHECK(several > rounds(1000));
}

TEST_CASE("ranges are read in the format of their file", "[corpus]") {
  // The second half alone would be detected as another format.
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "<DOC>\n<DOCNO>" + std::to_string(i) + "</DOCNO>\n" +
            (i < 20 ? "<DOCHDR>\nhttp://a.example/\n</DOCHDR>\n" : "<TEXT>") + "words\n</DOC>\n";
  const std::string path = folder.write("file", text);
  CHECK(check_ranges(path, 4, {}) == 4);
  CHECK(records_of(path, {}, find_ranges(path, 2, {}, default_resources())[1]).front().format == "trecweb");
}

TEST_CASE("arrays of JSON objects are read in ranges", "[corpus]") {
  const TemporaryFolder folder;
  std::string text = "[\n";
  for (int i = 0; i < 50; ++i) text += (i > 0 ? ",\n" : "") + ("{\"id\":\"" + std::to_string(i)) + "\"}";
  const std::string path = folder.write("file", text + "\n]\n");
  CHECK(check_ranges(path, 5, {}) == 5);
  for (const FileRange& range : find_ranges(path, 5, {}, default_resources())) {
    CorpusFiles files = find_corpus_files({path}, {}, default_resources());
    files.choose_range(range);
    CorpusReader reader(std::move(files), {}, default_resources());
    RecordBatch batch;
    while (reader.next(batch)) CHECK(batch.bad.empty());
  }
}

TEST_CASE("files that can't be read in ranges are refused", "[corpus]") {
  const TemporaryFolder folder;
  const std::string records = "{\"id\":\"1\"}\n{\"id\":\"2\"}\n";
  const std::string packed = folder.write("packed", gzipped(records)), plain = folder.write("plain", records);
  CHECK_THROWS_WITH(find_ranges(packed, 2, {}, default_resources()), Catch::Contains("is compressed"));
  CHECK_THROWS_WITH(find_ranges(folder.write("empty", ""), 2, {}, default_resources()), Catch::Contains("no records"));
  CHECK_THROWS_AS(find_ranges(folder.path(""), 2, {}, default_resources()), InvalidArgument);
  CHECK_THROWS_AS(find_ranges(folder.path("missing"), 2, {}, default_resources()), IoError);
  CorpusFiles files = find_corpus_files({plain, plain}, {}, default_resources());
  CHECK_THROWS_WITH(files.choose_range({0, 1}), Catch::Contains("exactly one file"));
  CorpusFiles one = find_corpus_files({plain}, {}, default_resources());
  CHECK_THROWS_WITH(one.choose_range({0, 1000}), Catch::Contains("no range 0-1000"));
  CHECK_THROWS_WITH(one.choose_range({9, 8}), Catch::Contains("no range 9-8"));
}

}  // namespace quern
