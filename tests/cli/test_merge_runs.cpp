#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "sanitized.hpp"

/// Runs that `quern merge-runs` makes of those of shards.
namespace quern {
namespace {

using namespace testing;

}  // namespace

TEST_CASE("equal runs of shards with equal documents are merged", "[cli][shards][reports]") {
  const TemporaryFolder folder;
  std::string corpus;
  for (int i = 0; i < 6; ++i) corpus += "{\"id\":\"D" + std::to_string(i % 3) + "\",\"contents\":\"mill\"}\n";
  const std::string whole = folder.path("whole"), one = folder.path("1"), two = folder.path("2");
  REQUIRE(run_quern({"index", folder.write("c.jsonl", corpus), "--order", "natural", "-o", whole}).exit_status == 0);
  const auto answers = [](const CommandLine& shards) {
    CommandLine words = {"query", "--query", "mill", "--output-format", "trec", "--quiet"};
    words.insert(words.end(), shards.begin(), shards.end());
    return run_quern(words).out;
  };
  for (const std::string& shard : {one, two}) {
    REQUIRE(run_quern({"cut", whole, "--shard", (shard == one ? "1/2" : "2/2"), "-o", shard}).exit_status == 0);
    folder.write(shard == one ? "r1" : "r2", answers({shard}));
  }
  REQUIRE(read_file(folder.path("r1")) == read_file(folder.path("r2")));
  CHECK(run_quern({"merge-runs", folder.path("r1"), folder.path("r2"), "-k", "10", "--quiet"}).out ==
        answers({one, two}));
}

TEST_CASE("queries with one id are not merged into one", "[cli][shards][reports]") {
  const TemporaryFolder folder;
  const std::string run = folder.write("run", "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 1 1.5 t\n2 Q0 a 1 1 t\n"),
                    sound = folder.write("sound", "1 Q0 a 1 3 t\n2 Q0 a 1 1 t\n");
  const RunOutcome repeated = run_quern({"merge-runs", run, "-k", "10"});
  CHECK(repeated.exit_status == 1);
  CHECK(repeated.out.empty());
  CHECK(contains(repeated.err, run + ", line 3: query 1 begins a second time"));
  const RunOutcome listed = run_quern({"merge-runs", sound, "-k", "10", "-q", folder.write("q", "1:mill\n2:x\n1:y\n")});
  CHECK(listed.exit_status == 1);
  CHECK(contains(listed.err, "the queries: query 1 begins a second time"));
  const RunOutcome lacking = run_quern({"merge-runs", sound, "-k", "10", "-q", folder.write("q", "1:mill\n")});
  CHECK(contains(lacking.err, sound + ", line 2: has a query 2 that is not among the queries"));
  const std::string twice = folder.write("twice", "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n2 Q0 b 2 2 t\n2 Q0 a 3 1 t\n");
  CHECK(contains(run_quern({"merge-runs", twice, sound, "-k", "10"}).err,
                 twice + ", line 4: document a is already among the query's results"));
  // A pipe can't be read twice.
  Surroundings piped;
  piped.input = "1 Q0 a 1 3 t\n";
  CHECK(contains(run_quern({"merge-runs", "-", "-k", "10"}, piped).err, "name a file"));
}

TEST_CASE("runs keep their order of queries when they are merged", "[cli][shards]") {
  const TemporaryFolder folder;
  const auto run_of = [&](const char* name, const CommandLine& qids) {
    std::string text;
    for (const std::string& qid : qids) text += qid + " Q0 d" + name + " 1 1 t\n";
    return folder.write(name, text);
  };
  const std::string a = run_of("a", {"1", "2", "3"}), b = run_of("b", {"0", "2", "x", "y", "3"}),
                    c = run_of("c", {"2", "z", "3", "4"});
  CommandLine qids;
  for (const std::string& line : lines_of(run_quern({"merge-runs", a, b, c, "-k", "1", "--quiet"}).out))
    qids.push_back(line.substr(0, line.find(' ')));
  CHECK(qids == CommandLine{"0", "1", "2", "z", "x", "y", "3", "4"});
  const std::string named = folder.write("q", "y\ta\n4\ta\nnone\ta\nx\ta\nz\ta\n3\ta\n2\ta\n1\ta\n0\ta\n");
  qids.clear();
  for (const std::string& line : lines_of(run_quern({"merge-runs", a, b, c, "-k", "1", "-q", named, "--quiet"}).out))
    qids.push_back(line.substr(0, line.find(' ')));
  CHECK(qids == CommandLine{"y", "4", "x", "z", "3", "2", "1", "0"});
}

TEST_CASE("merging runs of many queries, or of long ones, stays within the budget", "[cli][shards][reports]") {
  const TemporaryFolder folder;
  std::string many, longest;
  for (int i = 0; i < 1000000; ++i) many += "query" + std::to_string(i) + " Q0 D 1 1 t\n";
  for (int i = 0; i < 1000000; ++i)
    longest +=
        "1 Q0 document" + std::to_string(i) + " " + std::to_string(i + 1) + " " + std::to_string(1000000 - i) + " t\n";
  for (const std::string& text : {many, longest}) {
    const std::string run = folder.write("run", text);
    RunningQuern merging({"merge-runs", run, "-k", "1000000", "--memory", "32M", "-o", folder.path("out"), "--force"});
    CHECK(merging.finish() == 0);
    if (!sanitized) CHECK(merging.peak_memory_bytes() < 64 << 20);
    CHECK(lines_of(read_file(folder.path("out"))).size() == 1000000);
  }
}

}  // namespace quern
