#include <filesystem>

#include "catch.hpp"
#include "cli/checked_runs.hpp"
#include "cli/small_corpus.hpp"

/// --store-text of parse, index and build, and texts in inspect and verify.
namespace quern {
namespace {

using namespace testing;

constexpr const char* first_text = "The Wheel\nWater turns the wheel of the mill. stones\n";

struct TextFiles {
  TemporaryFolder folder;
  std::string corpus = folder.write("c.trecweb", small_trecweb);
  std::string collection = folder.path("collection"), index = folder.path("index"), plain = folder.path("plain");

  TextFiles() {
    run_well({"parse", corpus, "--store-text", "-o", collection});
    run_well({"index", corpus, "--store-text", "-o", index});
    run_well({"index", corpus, "-o", plain});
  }
};

}  // namespace

TEST_CASE("inspect --text prints the text of a document", "[cli][texts]") {
  const TextFiles files;
  CHECK(names_in(files.index) == CommandLine{"index.quern", "texts.quern"});
  CHECK(run_quern({"inspect", files.index, "--text", "M-1"}).out == first_text);
  CHECK(run_quern({"inspect", files.index + "/index.quern", "--text", "M-1"}).out == first_text);
  CHECK(run_quern({"inspect", files.index, "--text", "M-4"}).out == "\n");
  const RunOutcome both = run_quern({"inspect", files.index, "--text", "M-3", "--text", "M-1"});
  CHECK(both.out == std::string("Stones\nTwo stones grind. The lower stone lies still.\n") + first_text);
  const auto json = run_quern({"inspect", files.index, "--text", "M-1", "--json"}).json();
  CHECK(json["docno"] == "M-1");
  CHECK(json["text"] == first_text);
  check_failure({"inspect", files.index, "--text", "M-1", "--text", "M-9"}, {"no document 'M-9'"});
  CHECK(run_quern({"inspect", files.index, "--text", "M-1", "mill"}).exit_status == 2);
  CHECK(run_quern({"inspect", files.index, "--text", "M-1", "--config"}).exit_status == 2);
}

TEST_CASE("an index without a file that its manifest names is not sound", "[cli][texts]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("c.jsonl", "{\"id\":\"a\",\"contents\":\"water mill\",\"lang\":\"en\"}\n"),
                    collection = folder.path("collection"), index = folder.path("index"), built = folder.path("built");
  run_well({"index", corpus, "--store-text", "--keep-fields", "lang", "--forward", "-o", index});
  run_well({"parse", corpus, "--store-text", "--keep-fields", "lang", "-o", collection});
  run_well({"build", collection, "--store-text", "--forward", "-o", built});
  CHECK(read_file(built + "/index.quern") == read_file(index + "/index.quern"));
  for (const std::string member : {"texts.quern", "fields.quern", "forward.quern"}) {
    INFO(member);
    run_well({"verify", index});
    std::filesystem::rename(index + "/" + member, folder.path(member));
    check_failure({"verify", index}, {index, member, "is missing", "build the index again"});
    check_failure({"cut", index, "--shard", "1/1", "-o", folder.path("cut")}, {member.substr(0, 4)});
    std::filesystem::rename(folder.path(member), index + "/" + member);
  }
}

TEST_CASE("if several documents share a docno, inspect --text prints the first", "[cli][texts]") {
  const TemporaryFolder folder;
  const std::string corpus =
      folder.write("c.jsonl", "{\"id\":\"a\",\"contents\":\"one\"}\n{\"id\":\"a\",\"contents\":\"two\"}\n");
  run_well({"index", corpus, "--store-text", "-o", folder.path("index")});
  CHECK(run_quern({"inspect", folder.path("index"), "--text", "a"}).out == "\none\n");
}

TEST_CASE("build writes the texts of a collection that has them, for any order", "[cli][texts]") {
  const TextFiles files;
  const std::string order = files.folder.path("order"), built = files.folder.path("built");
  run_well({"order", files.collection, "--by", "random", "-o", order});
  const auto json =
      run_well({"build", files.collection, "--order", order, "--store-text", "-o", built, "--json"}).json();
  CHECK(json["texts"]["text_bytes"].get<std::size_t>() > std::string(first_text).size());
  CHECK(json["texts"]["file_bytes"] == std::filesystem::file_size(built + "/texts.quern"));
  CHECK(run_quern({"inspect", built, "--text", "M-1"}).out == first_text);
  // Without the flag there are none, and replacing an index removes its texts.
  run_well({"build", files.collection, "-o", built, "--force"});
  CHECK(names_in(built) == CommandLine{"index.quern"});
  run_well({"build", files.collection, "--store-text", "-o", built, "--force"});
  CHECK(names_in(built) == CommandLine{"index.quern", "texts.quern"});

  const std::string without = files.folder.path("without");
  run_well({"parse", files.corpus, "-o", without});
  check_failure({"build", without, "--store-text", "-o", files.folder.path("none")},
                {without, "has no stored texts", "quern parse --store-text"});
  CHECK_FALSE(std::filesystem::exists(files.folder.path("none")));
}

TEST_CASE("an index without texts, or with those of another index, is refused if texts are needed", "[cli][texts]") {
  const TextFiles files;
  check_failure({"inspect", files.plain, "--text", "M-1"},
                {files.plain, "texts.quern", "build the index again with --store-text"});
  // Texts of other documents with the same names are refused; texts of the same index, built again, are accepted.
  std::string pages = small_trecweb;
  pages.replace(pages.find("stones"), 6, "wheels");
  const std::string other = files.folder.path("other");
  run_well({"index", files.folder.write("other.trecweb", pages), "-o", other});
  std::filesystem::copy_file(files.index + "/texts.quern", other + "/texts.quern");
  check_failure({"inspect", other, "--text", "M-1"}, {"texts.quern", "another index", "--store-text"});
  check_failure({"verify", other}, {"texts.quern", "another index"});
  const std::string again = files.folder.path("again");
  run_well({"index", files.corpus, "--store-text", "-o", again});
  std::filesystem::remove(again + "/texts.quern");
  std::filesystem::copy_file(files.index + "/texts.quern", again + "/texts.quern");
  CHECK(run_quern({"inspect", again, "--text", "M-1"}).out == first_text);
  // The manifest of an index without texts says so: it is another index.
  std::filesystem::copy_file(files.index + "/texts.quern", files.plain + "/texts.quern");
  check_failure({"inspect", files.plain, "--text", "M-1"}, {"another index"});
  check_failure({"inspect", files.collection, "--text", "M-1"}, {"is a collection; --text needs an index"});
  check_failure({"inspect", files.index + "/texts.quern", "--text", "M-1"}, {"is a text file; --text needs an index"});
  check_failure({"query", files.index + "/texts.quern", "--query", "mill"}, {"is a Quern text file"});
}

TEST_CASE("inspect shows texts, and verify finds every changed byte of them", "[cli][texts]") {
  const TextFiles files;
  const std::string texts = files.index + "/texts.quern";
  const auto size = std::filesystem::file_size(texts);
  CHECK(run_quern({"inspect", files.index, "--json"}).json()["files_beside"]["texts.quern"] == size);
  CHECK_FALSE(run_quern({"inspect", files.plain, "--json"}).json().contains("files_beside"));
  const auto json = run_quern({"inspect", texts, "--json"}).json();
  CHECK(json["kind"] == "texts");
  CHECK(json["documents"] == 4);
  CHECK(json["file_bytes"] == size);
  CHECK(json["text_bytes"] == run_quern({"inspect", files.collection, "--json"}).json()["text_bytes"]);

  const RunOutcome sound = run_quern({"verify", files.index, texts});
  CHECK(sound.exit_status == 0);
  CHECK(lines_of(sound.out).size() == 3);
  CHECK(contains(sound.out, texts + ": text file, "));
  const std::string bytes = read_file(texts);
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    INFO("byte " << at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    files.folder.write("index/texts.quern", damaged);
    const RunOutcome outcome = run_quern({"verify", files.index});
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, "texts.quern"));
    // The index itself needs no texts.
    if (at % 70 == 0) CHECK(run_quern({"query", files.index, "--query", "mill"}).exit_status == 0);
  }
}

TEST_CASE("the configuration of an index says whether it has texts", "[cli][texts][config]") {
  const TextFiles files;
  const std::string config = run_quern({"inspect", files.index, "--config"}).out;
  CHECK(contains(config, "store-text = true\n"));
  CHECK_FALSE(contains(run_quern({"inspect", files.plain, "--config"}).out, "store-text"));
  const std::string again = files.folder.path("again");
  run_well({"index", files.corpus, "--config", files.folder.write("my.conf", config), "-o", again});
  for (const char* member : {"/index.quern", "/texts.quern"})
    CHECK(read_file(again + member) == read_file(files.index + member));
}

TEST_CASE("texts are inputs too: no output may overwrite them", "[cli][texts]") {
  const TextFiles files;
  const std::string texts = files.index + "/texts.quern", bytes = read_file(texts);
  CHECK(run_quern({"query", files.index, "--query", "mill", "-o", texts, "--force"}).exit_status == 2);
  CHECK(run_quern({"parse", texts, "-o", files.index, "--force"}).exit_status == 2);
  CHECK(read_file(texts) == bytes);
}

}  // namespace quern
