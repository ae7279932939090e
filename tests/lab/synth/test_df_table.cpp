#include "quern/core/error.hpp"
#include "quern/lab/synth/term_fields.hpp"

#include "catch.hpp"
#include "corpus/compressing.hpp"
#include "corpus/temporary_folder.hpp"

/// Tables of document frequencies.
namespace quern {
namespace {

using namespace testing;

std::string failure_of(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.write("df.tsv", text);
  try {
    read_df_table(path, default_resources());
  } catch (const Error& error) {
    return std::string(error.what()).substr(path.size());
  }
  return "none";
}

}  // namespace

TEST_CASE("a table of document frequencies is read whatever its order and compression", "[synth][format]") {
  const TemporaryFolder folder;
  const std::string text = "\xef\xbb\xbf# made by hand\nwheel\t7\r\n\nmill\t12\ncaf\xc3\xa9\t4294967294\n";
  for (const std::string& bytes : {text, gzipped(text)}) {
    const DfTable table = read_df_table(folder.write("df", bytes), default_resources());
    REQUIRE(table.terms.size() == 3);
    CHECK(table.terms[0].term == "caf\xc3\xa9");
    CHECK(table.terms[1].term == "mill");
    CHECK(table.terms[1].df == 12);
    CHECK(table.terms[2].term == "wheel");
    CHECK(table.postings() == std::uint64_t{4294967294u} + 19);
    CHECK(table.documents == 0);
  }
}

TEST_CASE("a bad line of a df table is named", "[synth][format]") {
  CHECK(failure_of("mill\t1\nwheel 2\n") == ", line 2: expected term<TAB>df");
  CHECK(failure_of("\t1\n") == ", line 1: the term must have 1 to 255 bytes");
  CHECK(failure_of(std::string(256, 'a') + "\t1\n") == ", line 1: the term must have 1 to 255 bytes");
  CHECK(failure_of("\xff\t1\n") == ", line 1: the term is not UTF-8");
  for (const char* df : {"0", "-1", "x", "", "1.5", "4294967295", "99999999999999999999", "1 2"}) {
    INFO(df);
    CHECK(failure_of(std::string("\nmill\t") + df + "\n") == ", line 2: the df must be a number from 1 to 4294967294");
  }
  CHECK(failure_of("mill\t1\nwheel\t2\nmill\t3\n") == ", line 3: the term 'mill' is already in line 1");
  CHECK(failure_of("mill\t1\n" + std::string(10000, 'x')) == ", line 2: is too long for term<TAB>df");
  CHECK(failure_of("# nothing\n") == ": has no lines of the form term<TAB>df");
  CHECK(failure_of("") == ": has no lines of the form term<TAB>df");
}

TEST_CASE("a df table that exceeds the memory is refused before it is in memory", "[synth][memory]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "term" + std::to_string(i) + "\t1\n";
  Resources resources = default_resources();
  resources.tmp_folder = folder.path("");
  resources.memory_bytes = 32 << 20;
  const std::string path = folder.write("df.tsv", text);
  try {
    read_df_table(path, resources);
    FAIL("not refused");
  } catch (const InvalidArgument& error) {
    CHECK(std::string(error.what()).find(path) == 0);
    CHECK(std::string(error.what()).find(std::string("raise ") + option_name<"memory">) != std::string::npos);
  }
  resources.memory_bytes = 64 << 20;
  CHECK(read_df_table(path, resources).terms.size() == 200000);
}

TEST_CASE("document frequencies are scaled to the number of documents", "[synth]") {
  DfTable table;
  table.name = "table";
  table.terms = {{"all", 1000}, {"few", 3}, {"half", 500}, {"one", 1}};
  table.documents = 1000;
  const auto dfs = [](const DfTable& scaled) {
    std::vector<std::uint64_t> all;
    for (const DfEntry& entry : scaled.terms) all.push_back(entry.df);
    return all;
  };
  CHECK(dfs(scaled_to(table, 1000)) == std::vector<std::uint64_t>{1000, 3, 500, 1});
  CHECK(dfs(scaled_to(table, 100)) == std::vector<std::uint64_t>{100, 1, 50, 1});
  CHECK(dfs(scaled_to(table, 2500)) == std::vector<std::uint64_t>{2500, 8, 1250, 3});
  CHECK(dfs(scaled_to(table, 1)) == std::vector<std::uint64_t>{1, 1, 1, 1});
  table.documents = 999;
  CHECK_THROWS_AS(scaled_to(table, 1000), InvalidArgument);
  table.documents = 0;
  CHECK(dfs(scaled_to(table, 1000)) == std::vector<std::uint64_t>{1000, 3, 500, 1});
  CHECK_THROWS_AS(scaled_to(table, 999), InvalidArgument);
}

}  // namespace quern
