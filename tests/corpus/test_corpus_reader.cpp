#include <string>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/corpus/corpus_reader.hpp"

#include "catch.hpp"
#include "compressing.hpp"
#include "damaged_warc.hpp"
#include "temporary_folder.hpp"

using namespace quern;
using quern::testing::gzipped;
using quern::testing::TemporaryFolder;
using quern::testing::zstd_packed;

namespace {

std::string trec_document(int number, std::size_t text_bytes) {
  return "<DOC>\n<DOCNO>D" + std::to_string(number) + "</DOCNO>\n<TEXT>" + std::string(text_bytes, 'x') +
         "</TEXT>\n</DOC>\n";
}

struct Read {
  std::vector<std::string> records;       ///< in order
  std::vector<std::string> places;        ///< "file:offset:format" of each
  std::vector<std::size_t> batch_counts;  ///< records in each batch
  std::vector<BadRecord> bad;
  std::vector<std::string> empty_files;
  std::size_t spooled = 0;  ///< records in temporary files
  std::uint64_t compressed_bytes = 0;
};

std::string whole_text(const RecordText& record) {
  std::string text;
  const std::unique_ptr<PieceSource> pieces = record.pieces();
  for (std::string_view piece = pieces->next(); !piece.empty(); piece = pieces->next()) text += piece;
  return text;
}

Read read_corpus(const std::vector<std::string>& paths, const CorpusOptions& options = {}) {
  CorpusReader reader(find_corpus_files(paths, {}, default_resources()), options, default_resources());
  Read read;
  RecordBatch batch;
  while (reader.next(batch)) {
    read.batch_counts.push_back(batch.records.size());
    for (const RecordSpan& record : batch.records) {
      read.records.push_back(whole_text(batch.text(record)));
      read.spooled += !batch.text(record).is_whole();
      read.places.push_back(std::to_string(record.file) + ":" + std::to_string(record.file_offset) + ":" +
                            std::string(record.format->name));
    }
    read.bad.insert(read.bad.end(), batch.bad.begin(), batch.bad.end());
    read.compressed_bytes += batch.compressed_bytes;
  }
  read.empty_files = reader.empty_files();
  return read;
}

}  // namespace

TEST_CASE("A corpus of several formats and compressions is read in order", "[corpus]") {
  const TemporaryFolder folder;
  const std::string json = "{\"id\":\"1\"}\n{\"id\":\"2\"}\n";
  const std::string trec = trec_document(1, 10) + trec_document(2, 10);
  const std::string warc = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
  const Read read =
      read_corpus({folder.write("b", zstd_packed(json)), folder.write("a", gzipped(trec)), folder.write("c", warc)});
  REQUIRE(read.records.size() == 5);
  CHECK(read.records[0] == "{\"id\":\"1\"}");
  CHECK(read.records[2] + "\n" == trec_document(1, 10));
  CHECK(read.places == std::vector<std::string>{"0:0:jsonl", "0:11:jsonl", "1:0:trectext",
                                                "1:" + std::to_string(trec.size() / 2) + ":trectext", "2:0:warc"});
  CHECK(read.compressed_bytes == zstd_packed(json).size() + gzipped(trec).size() + warc.size());
  CHECK(read.batch_counts.size() == 1);
}

TEST_CASE("Only the corpus's bytes decide where batches end", "[corpus][property]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += trec_document(i, static_cast<std::size_t>(i * 37 % 1500));
  CorpusOptions options;
  options.batch_bytes = 100000;
  const Read plain = read_corpus({folder.write("plain", text)}, options);
  const Read packed =
      read_corpus({folder.write("packed", gzipped(text.substr(0, 99999)) + gzipped(text.substr(99999)))}, options);
  CHECK(plain.records.size() == 3000);
  CHECK(plain.batch_counts.size() == text.size() / 100000 + 1);
  CHECK(plain.records == packed.records);
  CHECK(plain.places == packed.places);
  CHECK(plain.batch_counts == packed.batch_counts);

  // Two files give the same records, and a batch continues past a file's end.
  const std::size_t middle = text.find("<DOC>", text.size() / 2);
  const Read halves =
      read_corpus({folder.write("x/1", text.substr(0, middle)), folder.write("x/2", text.substr(middle))}, options);
  CHECK(halves.records == plain.records);
  CHECK(halves.batch_counts == plain.batch_counts);
}

TEST_CASE("A record larger than a batch becomes a batch of its own", "[corpus]") {
  const TemporaryFolder folder;
  const std::string text = trec_document(0, 10) + trec_document(1, 3000000) + trec_document(2, 10);
  CorpusOptions options;
  options.batch_bytes = 1000;
  const Read read = read_corpus({folder.write("large", text)}, options);
  REQUIRE(read.records.size() == 3);
  CHECK(read.records[1].size() + 1 == trec_document(1, 3000000).size());
  CHECK(read.batch_counts == std::vector<std::size_t>{2, 1});
}

TEST_CASE("A record beyond the limit is skipped and counted with its position, and reading continues", "[corpus]") {
  const TemporaryFolder folder;
  const std::string before = trec_document(0, 10);
  const std::string text = before + trec_document(1, 5000000) + trec_document(2, 10);
  CorpusOptions options;
  options.max_document_bytes = 100000;
  const Read read = read_corpus({folder.write("large", gzipped(text))}, options);
  CHECK(read.records.size() == 2);
  REQUIRE(read.bad.size() == 1);
  CHECK(read.bad[0].file_offset == before.size());
  CHECK(std::string(read.bad[0].reason).find(option_name<"max-document">) != std::string::npos);
  CHECK(read.places[1] == "0:" + std::to_string(text.size() - trec_document(2, 10).size()) + ":trectext");
}

TEST_CASE("Large records go to temporary files, and nothing else changes", "[corpus][property]") {
  const TemporaryFolder folder;
  RandomBits random(59);
  std::string trec, json;
  for (int i = 0; i < 300; ++i) {
    trec += trec_document(i, random.below(10) == 0 ? random.below(700000) : random.below(3000));
    json += "{\"id\": " + std::to_string(i) + ", \"text\": \"" + std::string(random.below(20000), 'x') + "\"}\n";
  }
  const std::vector<std::string> files = {folder.write("1", gzipped(trec)), folder.write("2", json),
                                          folder.write("3", testing::damaged_warc(random, 300, 100000)),
                                          folder.write("4", testing::damaged_warc(random, 3000))};
  CorpusOptions options;
  options.batch_bytes = 50000;
  options.max_document_bytes = 500000;
  options.max_in_memory = 100 << 20;
  const Read in_memory = read_corpus(files, options);
  CHECK(in_memory.spooled == 0);
  CHECK(in_memory.bad.size() > 10);
  for (const std::size_t max_in_memory : {0, 16, 3000, 300000}) {
    options.max_in_memory = max_in_memory;
    const Read read = read_corpus(files, options);
    CHECK(read.spooled > (max_in_memory < 10000 ? 100 : 0));
    CHECK(read.records == in_memory.records);
    CHECK(read.places == in_memory.places);
    CHECK(read.batch_counts == in_memory.batch_counts);
    REQUIRE(read.bad.size() == in_memory.bad.size());
    for (std::size_t i = 0; i < read.bad.size(); ++i) CHECK(read.bad[i].file_offset == in_memory.bad[i].file_offset);
  }
}

TEST_CASE("A batch ends after a maximum number of records, good or bad", "[corpus]") {
  const TemporaryFolder folder;
  std::string good, bad = "<DOC>\n<DOCNO>first</DOCNO>\n</DOC>\n";
  for (int i = 0; i < 1000; ++i) good += "{}\n", bad += "</DOC>\n";
  CorpusOptions options;
  options.batch_records = 300;
  const Read records = read_corpus({folder.write("good.jsonl", "{\"id\":\"1\"}\n" + good)}, options);
  CHECK(records.batch_counts == std::vector<std::size_t>{300, 300, 300, 101});
  CHECK(records.records.back() == "{}");

  CorpusReader reader(find_corpus_files({folder.write("bad", bad)}, {}, default_resources()), options,
                      default_resources());
  std::vector<std::size_t> counts;
  for (RecordBatch batch; reader.next(batch);) counts.push_back(batch.records.size() + batch.bad.size());
  CHECK(counts == std::vector<std::size_t>{300, 300, 300, 101});
  options.batch_records = 0;
  CHECK_THROWS_AS(read_corpus({folder.path("bad")}, options), InvalidArgument);
}

TEST_CASE("Junk of any length between records needs no memory", "[corpus]") {
  const TemporaryFolder folder;
  const std::string text = trec_document(0, 10) + std::string(3000000, ' ') + trec_document(1, 10);
  CorpusReader reader(find_corpus_files({folder.write("gaps", text)}, {}, default_resources()), {},
                      default_resources());
  RecordBatch batch;
  std::size_t records = 0;
  while (reader.next(batch)) {
    CHECK(batch.bytes.size() < 1000000);
    records += batch.records.size();
  }
  CHECK(records == 2);
}

TEST_CASE("Empty files have no records and are reported", "[corpus]") {
  const TemporaryFolder folder;
  const std::string empty = folder.write("1", "");
  const std::string blank = folder.write("2", gzipped(" \n\n"));
  const Read read = read_corpus({empty, blank, folder.write("3", trec_document(0, 1))});
  CHECK(read.records.size() == 1);
  CHECK(read.empty_files == std::vector<std::string>{empty, blank});
  CHECK(read.places[0] == "2:0:trectext");
  CHECK(read_corpus({empty}).records.empty());
}

TEST_CASE("A file of unknown format is refused, with name and remedy", "[corpus]") {
  const TemporaryFolder folder;
  const auto complaint = [&](const std::string& bytes) -> std::string {
    try {
      read_corpus({folder.write("noise", bytes)});
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  };
  const std::string unknown = complaint("\x01\x02 some bytes");
  CHECK(unknown.find(folder.path("noise")) == 0);
  CHECK(unknown.find(option_name<"format">) != std::string::npos);
  CHECK(unknown.find("trectext") != std::string::npos);
  CHECK(complaint("filedesc://x.arc 0 0 text/plain 1\n").find("ARC") != std::string::npos);
  CHECK(complaint("<html><head></head></html>").find(option_name<"format">) != std::string::npos);
}

TEST_CASE("A given format is used without detection", "[corpus]") {
  const TemporaryFolder folder;
  CorpusOptions options;
  options.format = "trectext";
  const Read read = read_corpus({folder.write("odd", "notes before\n" + trec_document(1, 3))}, options);
  CHECK(read.records.size() == 1);
  options.format = "nonsense";
  CHECK_THROWS_AS(read_corpus({folder.path("odd")}, options), InvalidArgument);
}

TEST_CASE("A truncated gzip file is an error, after the records before the cut", "[corpus]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += trec_document(i * 7919, static_cast<std::size_t>(i % 90));
  const std::string packed = gzipped(text);
  const std::string path = folder.write("cut", packed.substr(0, packed.size() - 5));
  CorpusOptions options;
  options.batch_bytes = 1000;
  CorpusReader reader(find_corpus_files({path}, {}, default_resources()), options, default_resources());
  RecordBatch batch;
  std::size_t records = 0;
  try {
    while (reader.next(batch)) records += batch.records.size();
    FAIL("a truncated file was read to its end");
  } catch (const CorruptFile& error) {
    CHECK(std::string(error.what()).find(path) == 0);
  }
  CHECK(records > 0);
}

TEST_CASE("A reader may be destroyed before the end of its corpus", "[corpus]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += trec_document(i, 1000);
  const std::string path = folder.write("long", text);
  for (int i = 0; i < 3; ++i) {
    CorpusReader reader(find_corpus_files({path}, {}, default_resources()), {}, default_resources());
    RecordBatch batch;
    CHECK(reader.next(batch));
  }
}
