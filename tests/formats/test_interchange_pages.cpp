#include "quern/core/types.hpp"

#include "catch.hpp"
#include "corpus/compressing.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/page_example.hpp"
#include "index/exchange/foreign_files.hpp"

/// Readers and writers of foreign inverted files: the examples of their pages, round trips, and malformed files.
namespace quern {
namespace {

using namespace testing;

InvertedModel example() {
  InvertedModel model;
  model.counts = {2, 2, 2, 4};
  model.lists = {{"mill", {{0, 1}, {1, 2}}}, {"the", {{0, 1}}}};
  model.documents = {{"D1", 2}, {"D2", 2}};
  return model;
}

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

void check_same(const InvertedModel& found, const InvertedModel& expected) {
  CHECK(found.lists == expected.lists);
  CHECK(found.documents == expected.documents);
  CHECK(found.counts.documents == expected.counts.documents);
  CHECK(found.ended);
}

/// Replaces the first occurrence of these bytes.
std::string replaced(std::string bytes, const std::string& hex, const std::string& by_hex) {
  const std::string what = from_hex(hex);
  const std::size_t at = bytes.find(what);
  REQUIRE(at != std::string::npos);
  return bytes.replace(at, what.size(), from_hex(by_hex));
}

}  // namespace

TEST_CASE("the worked example of CIFF's page holds", "[format][interchange]") {
  const TemporaryFolder folder;
  auto shown = page_bytes("exchange/ciff.md", "bytes");
  const std::string hex = shown["header"] + shown["list of mill"] + shown["list of the"] + shown["documents"];
  CHECK(hex_text(as_bytes(ciff_of(example(), folder.path("")))) == hex);
  const InvertedModel read = read_ciff_text(from_hex(hex));
  check_same(read, example());
  CHECK(read.counts.lists == 2);
  CHECK(read.counts.total_tokens == 4);
  check_same(read_ciff_text(gzipped(from_hex(hex))), example());
}

TEST_CASE("the worked example of ds2i's page holds", "[format][interchange]") {
  const TemporaryFolder folder;
  auto shown = page_bytes("exchange/ds2i.md", "bytes");
  const Ds2iParts parts = ds2i_of(example(), folder.path(""));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    INFO(ds2i_endings[i]);
    CHECK(hex_text(as_bytes(parts[i])) == shown[ds2i_endings[i]]);
  }
  check_same(read_ds2i_parts(parts), example());
}

TEST_CASE("CIFF and ds2i files are read back as they were written", "[format][interchange][property]") {
  const TemporaryFolder folder;
  for (const auto& [documents, terms] : {std::pair(0, 0), {1, 1}, {2, 0}, {40, 30}, {70000, 12}}) {
    InvertedModel model = random_inverted(documents, documents, terms);
    if (documents > 2) {
      model.lists.back().postings.back().second = 0x7fffffff;
      model.documents[1] = {"", 0x7fffffff};
      model.documents[2] = {"m\xc3\xbchle " + std::string(300000, 'x'), 0};
      model.counts.total_documents = 100000;
    }
    INFO(documents << " documents");
    const InvertedModel ciff = read_ciff_text(ciff_of(model, folder.path("")));
    check_same(ciff, model);
    CHECK(ciff.counts.total_documents == model.counts.total_documents);
    CHECK(ciff.counts.total_tokens == model.counts.total_tokens);
    check_same(read_ds2i_parts(ds2i_of(model, folder.path(""))), model);
  }
}

TEST_CASE("CIFF fields may come in any order, with unknown ones among them", "[format][interchange]") {
  const TemporaryFolder folder;
  const std::string bytes = ciff_of(example(), folder.path(""));
  // The list of `the`: posting, df, an unknown field of each kind, term.
  const std::string other = replaced(bytes, "0d0a037468651001180122021001",
                                     "20"
                                     "22021001"
                                     "1001"
                                     "7805"
                                     "7d00000000"
                                     "790000000000000000"
                                     "7a03616263"
                                     "0a03746865");
  check_same(read_ciff_text(other), example());
}

TEST_CASE("CIFF files that contradict themselves are refused", "[format][interchange][hostile]") {
  const TemporaryFolder folder;
  const std::string bytes = ciff_of(example(), folder.path(""));
  const auto refused = [&](const std::string& hex, const std::string& by_hex) {
    INFO(hex << " becomes " << by_hex);
    CHECK_THROWS_AS(read_ciff_text(replaced(bytes, hex, by_hex)), CorruptFile);
  };
  refused("220408011002", "220408001002");              // the same docID again
  refused("220408011002", "220408021002");              // a docID that no document has
  refused("220408011002", "220408011000");              // frequency 0
  refused("220408011002", "220508011002");              // a posting that reaches past its list
  refused("100218032202", "100318032202");              // another df
  refused("140a046d696c6c", "140a7f6d696c6c");          // a term that reaches past its list
  refused("1002180220022802", "1003180220022802");      // more lists
  refused("1002180220022802", "1001180220022802");      // fewer lists
  refused("1002180220022802", "1002180320022802");      // more documents
  refused("1002180220022802", "1002180120022802");      // fewer documents
  refused("080801120244321802", "080802120244321802");  // not the next document
  refused("2d080110021802", "ffffffffffffffff7f080110021802");
  CHECK_THROWS_AS(read_ciff_text(replaced(bytes, "2d0801", "2d0802")), UnsupportedVersion);
  CHECK_THROWS_AS(read_ciff_text(""), CorruptFile);
  CHECK_THROWS_AS(read_ciff_text(bytes + '\0'), CorruptFile);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    INFO("cut to " << size);
    CHECK_THROWS_AS(read_ciff_text(bytes.substr(0, size)), Error);
  }
}

TEST_CASE("ds2i files that contradict each other are refused", "[format][interchange][hostile]") {
  const TemporaryFolder folder;
  const Ds2iParts sound = ds2i_of(example(), folder.path(""));
  const auto refused = [&](std::size_t part, const std::string& bytes) {
    INFO(ds2i_endings[part] << " " << hex_text(as_bytes(bytes)));
    Ds2iParts parts = sound;
    parts[part] = bytes;
    CHECK_THROWS_AS(read_ds2i_parts(parts), CorruptFile);
  };
  for (std::size_t part = 0; part < sound.size(); ++part) {
    refused(part, "");
    refused(part, sound[part] + std::string("\x01\0\0\0\n", 5));
    refused(part, part < 3 ? sound[part].substr(0, sound[part].size() - 1)
                           : sound[part].substr(0, sound[part].find('\n') + 1));
  }
  refused(0, replaced(sound[0], "0000000001000000", "0100000001000000"));  // the same docID again
  refused(0, replaced(sound[0], "0000000001000000", "0000000002000000"));  // a docID that no document has
  refused(0, replaced(sound[0], "01000000", "02000000"));                  // does not begin with 1
  refused(0, replaced(sound[0], "0100000002000000", "01000000ffffffff"));
  refused(1, replaced(sound[1], "0100000002000000", "0000000002000000"));  // frequency 0
  refused(1, replaced(sound[1], "0200000001", "0100000001"));              // another length
  refused(2, replaced(sound[2], "02", "03"));
}

TEST_CASE("values that a format can't represent are refused", "[format][interchange]") {
  const TemporaryFolder folder;
  InvertedModel model = example();
  model.documents[0].first = "a\nb";
  CHECK_THROWS_AS(ds2i_of(model, folder.path("")), InvalidArgument);
  CHECK_NOTHROW(ciff_of(model, folder.path("")));
  model = example();
  model.lists[0].postings[0].second = 0x80000000;
  CHECK_THROWS_AS(ciff_of(model, folder.path("")), InvalidArgument);
  CHECK_NOTHROW(ds2i_of(model, folder.path("")));
}

}  // namespace quern
