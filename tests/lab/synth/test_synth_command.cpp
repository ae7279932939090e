#include <set>

#include "quern/io/byte_source.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"

/// quern synth and quern bench lists.
namespace quern {
namespace {

using namespace testing;

constexpr const char* table = "grain\t300\nmill\t1000\nwheel\t40\nflour\t5\n";

void succeed(const CommandLine& words) {
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
}

}  // namespace

TEST_CASE("quern synth builds an index from a table, and a twin of an index", "[cli][synth]") {
  const TemporaryFolder folder;
  const std::string df = folder.write("df.tsv", table), first = folder.path("first"), twin = folder.path("twin");
  const RunOutcome made = run_quern({"synth", "--df", df, "--docs", "2000", "-o", first, "--json", "--codec", "rice"});
  REQUIRE(made.exit_status == 0);
  CHECK(made.json()["documents"] == 2000);
  CHECK(made.json()["postings"] == 1345);
  CHECK(made.json()["codec"] == "rice");
  succeed({"verify", first});
  CHECK(contains(run_quern({"query", first, "--query", "Mill grain"}).out, "S0000"));
  succeed({"synth", "--df", first, "-o", twin});
  CHECK(run_quern({"inspect", twin, "--json"}).json()["postings"] == 1345);
  CHECK(run_quern({"inspect", twin, "--json"}).json()["documents"] == 2000);
  succeed({"synth", "--df", df, "--df-docs", "2000", "--docs", "200", "-o", twin, "--force", "--order", "score"});
  CHECK(run_quern({"inspect", twin, "--json"}).json()["postings"] == 135);
  CHECK(run_quern({"inspect", twin, "--json"}).json()["order"] == "score");
}

TEST_CASE("quern synth reports errors and leaves no files", "[cli][synth]") {
  const TemporaryFolder folder;
  const std::string df = folder.write("df.tsv", table), out = folder.path("out");
  const auto fails = [&](const CommandLine& words, int status, const std::string& why) {
    CommandLine all = {"synth", "-o", out};
    all.insert(all.end(), words.begin(), words.end());
    const RunOutcome outcome = run_quern(all);
    INFO(outcome.err);
    CHECK(outcome.exit_status == status);
    CHECK(contains(outcome.err, why));
    CHECK(names_in(folder.path("")).size() == 2);
  };
  const std::string bad = folder.write("bad.tsv", "mill\tmany\n");
  fails({"--df", bad, "--docs", "10"}, 1, "bad.tsv, line 1: the df must be");
  fails({"--df", df}, 2, "--docs");
  fails({"--df", df, "--docs", "999"}, 1, "the df of 'mill' is 1000");
  fails({"--df", df, "--docs", "0"}, 2, "--docs");
  fails({"--df", df, "--docs", "2000", "--clustering", "2"}, 2, "--clustering");
  fails({"--df", df, "--docs", "4000000000", "--df-docs", "2000", "--memory", "1G"}, 1, "raise it");
  fails({"--df", folder.path("none"), "--docs", "10"}, 1, "none");
  fails({"--docs", "10"}, 2, "--df");
  fails({"--df", df, "--links", folder.path("links")}, 2, "--docs");
  CHECK(run_quern({"synth", "--docs", "10"}).exit_status == 2);
  CHECK(run_quern({"synth", "--links", folder.path("links")}).exit_status == 2);
  CHECK(run_quern({"synth", "--docs", "10", "--corpus", df}).exit_status == 1);
}

TEST_CASE("quern synth writes links whose ends are documents of the index and of the corpus", "[cli][synth]") {
  const TemporaryFolder folder;
  const std::string df = folder.write("df.tsv", table), index = folder.path("index"), links = folder.path("links");
  succeed({"synth", "--df", df, "--docs", "2000", "-o", index, "--links", links, "--mean-links", "5", "--corpus",
           folder.path("corpus"), "--mean-length", "30", "--seed", "9"});
  std::set<std::string> docnos;
  std::size_t row = 0;
  std::vector<std::string> urls;
  for (const std::string& line : lines_of(run_quern({"inspect", index, "--docs"}).out)) {
    const std::size_t docno = line.find('\t') + 1, url = line.find('\t', docno) + 1;
    docnos.insert(line.substr(docno, url - docno - 1));
    urls.push_back(line.substr(url, line.find('\t', url) - url));
  }
  REQUIRE(docnos.size() == 2000);
  const CommandLine lines = lines_of(read_file(links));
  CHECK(lines.size() > 8000);
  for (const std::string& line : lines) {
    const std::size_t tab = line.find('\t');
    REQUIRE(docnos.count(line.substr(0, tab)) == 1);
    REQUIRE(docnos.count(line.substr(tab + 1)) == 1);
  }
  // The corpus has the same documents.
  succeed({"index", folder.path("corpus"), "-o", folder.path("real")});
  for (const std::string& line : lines_of(run_quern({"inspect", folder.path("real"), "--docs"}).out))
    REQUIRE(contains(line, "\t" + urls[row++] + "\t"));
  CHECK(row == 2000);
}

TEST_CASE("links are compressed as their file's name indicates, with the same bytes by any number of threads",
          "[cli][synth]") {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, const char* threads) {
    succeed({"synth", "--docs", "20000", "--links", folder.path(name), "-j", threads, "--force"});
    return read_file(folder.path(name));
  };
  const std::string plain = write("links", "1");
  CHECK(write("links", "2") == plain);
  for (const char* name : {"links.gz", "links.zst"}) {
    const std::string packed = write(name, "1");
    CHECK(write(name, "2") == packed);
    CHECK(packed.size() < plain.size() / 2);
    CHECK(read_whole(folder.path(name), 1 << 30) == plain);
  }
}

TEST_CASE("quern bench lists compares gaps with evenly spread ones", "[cli][synth][bench]") {
  const TemporaryFolder folder;
  const std::string df = folder.write("df.tsv", "a\t3000\nb\t3000\nc\t3000\nd\t3000\n"), index = folder.path("index");
  const std::string queries = folder.write("queries", "a b\na b\n");
  const auto profile = [&](const char* clustering) {
    succeed(
        {"synth", "--df", df, "--docs", "30000", "-o", index, "--clustering", clustering, "-q", queries, "--force"});
    return run_quern({"bench", "lists", index, "-q", queries, "--json"}).json();
  };
  const auto even = profile("0"), clustered = profile("0.5");
  for (const auto& json : {even, clustered}) {
    CHECK(json["postings"] == 12000);
    CHECK(json["pairs"] == 2);
    CHECK(json["blocks_compared"] == 96);
    double shares = 0;
    for (const double share : json["all"]["freq_shares"]) shares += share;
    CHECK(shares == Approx(1));
    // log2(30000 over 3000) / 3000
    CHECK(json["all"]["random_bits"].get<double>() == Approx(4.69).margin(0.01));
  }
  CHECK(even["all"]["gap_entropy_bits"].get<double>() == Approx(4.75).margin(0.1));
  CHECK(even["pairs_over_independence"]["mean"].get<double>() == Approx(1).margin(0.25));
  CHECK(clustered["all"]["gap_entropy_bits"].get<double>() < 4.2);
  CHECK(clustered["docid_bits_per_posting"].get<double>() < even["docid_bits_per_posting"].get<double>());
  CHECK(clustered["pairs_over_independence"]["mean"].get<double>() > 2);
  CHECK(contains(run_quern({"bench", "lists", index}).out, "block maxima over their list's"));
}

}  // namespace quern
