#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "sanitized.hpp"

/// --expand of query and explain.
namespace quern {
namespace {

using namespace testing;

const std::string expanded_corpus = std::string(QUERN_SOURCE_DIR) + "/sample_data/corpus";
const std::string expanded_topics = std::string(QUERN_SOURCE_DIR) + "/sample_data/topics.txt";

std::string stdout_of(const CommandLine& words) {
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  return outcome.out;
}

}  // namespace

TEST_CASE("expanded queries agree with a plain reference in Python", "[cli][expansion]") {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0) {
    WARN("skipped: no python3");
    return;
  }
  const TemporaryFolder folder;
  const std::string command = std::string("python3 '") + QUERN_SOURCE_DIR + "/tests/search/reference_expansion.py' '" +
                              QUERN_EXECUTABLE + "' '" + folder.path("") + "' >/dev/null";
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("expanded queries have the same results with all algorithms, threads and shards", "[cli][expansion]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index"), order = folder.path("order"), collection = folder.path("collection"),
                    statistics = folder.path("statistics");
  stdout_of({"parse", expanded_corpus, "--language", "english", "-o", collection});
  stdout_of({"order", collection, "--by", "random", "--shards", "3", "-o", order});
  stdout_of({"statistics", collection, "-o", statistics});
  stdout_of({"build", collection, "--order", order, "--forward", "-o", index});
  CommandLine shards;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    shards.push_back(folder.path(std::string("shard") + shard[0]));
    stdout_of({"build", collection, "--order", order, "--shard", shard, "--statistics", statistics, "--forward", "-o",
               shards.back()});
  }
  for (const char* expand : {"rm3", "bo1:terms=25"}) {
    INFO(expand);
    const CommandLine rest = {"-q", expanded_topics, "--expand", expand, "-k", "50", "-j", "1"};
    CommandLine query = {"query", index};
    query.insert(query.end(), rest.begin(), rest.end());
    const std::string results = stdout_of(query);
    CHECK(results != stdout_of({"query", index, "-q", expanded_topics, "-k", "50"}));
    for (const char* algorithm : {"or", "wand", "bmw", "maxscore"}) {
      CommandLine words = query;
      words.insert(words.end(), {"-a", algorithm});
      CHECK(stdout_of(words) == results);
    }
    query.back() = "3";
    query.insert(query.end(), {"--memory", "64M"});
    CHECK(stdout_of(query) == results);
    CommandLine over_shards = {"query"};
    over_shards.insert(over_shards.end(), shards.begin(), shards.end());
    over_shards.insert(over_shards.end(), rest.begin(), rest.end());
    CHECK(stdout_of(over_shards) == results);
  }
}

TEST_CASE("explain shows the score of an expanded query", "[cli][expansion]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  stdout_of({"index", expanded_corpus, "--forward", "-o", index});
  const std::string found = stdout_of({"query", index, "--query", "water mill", "--expand", "rm3", "-k", "1"});
  std::istringstream columns(found);
  std::string id, q0, docno, rank, score;
  columns >> id >> q0 >> docno >> rank >> score;
  CHECK(contains(stdout_of({"explain", index, "--query", "water mill", "--expand", "rm3", "--docno", docno}),
                 "\nscore " + score + "\n"));
}

TEST_CASE("expansion is refused where it can't be", "[cli][expansion]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.trecweb", small_trecweb), plain = folder.path("plain");
  const std::string vectors = folder.write("vectors.jsonl", "{\"id\": \"1\", \"vector\": {\"mill\": 3}}\n");
  const std::string given = folder.path("given"), topics = folder.write("topics.tsv", "1\tmill\n");
  stdout_of({"index", corpus, "-o", plain});
  stdout_of({"index", vectors, "--impacts", "8", "-o", given});
  struct Case {
    CommandLine words;
    int exit_status;
    std::string message;
  };
  for (const Case& wrong :
       {Case{{"query", plain, "--query", "mill", "--expand", "rm3"}, 1, "--forward"},
        Case{{"query", given, "--query", "mill", "--expand", "rm3"}, 1, "given weights, not text"},
        Case{{"query", plain, "--query", "mill", "--expand", "rm4"}, 2, "use one of rm3, bo1"},
        Case{{"query", plain, "--query", "mill", "--expand", "rm3:docs=3"}, 2, "documents, terms, weight, df"},
        Case{{"query", plain, "--query", "mill", "--expand", "rm3:terms=2.5"}, 2, "must be a whole number"},
        Case{{"query", plain, "--query", "mill", "--expand", "bo1:documents=0"}, 2, "documents"},
        Case{{"query", plain, "-q", topics, "--queries-format", "tsv", "--expand", "rm3", "--batch-wait", "5"},
             2,
             "--batch-wait"}}) {
    const RunOutcome outcome = run_quern(wrong.words);
    INFO(outcome.err);
    CHECK(outcome.exit_status == wrong.exit_status);
    CHECK(contains(outcome.err, "quern: error: "));
    CHECK(contains(outcome.err, wrong.message));
  }
}

}  // namespace quern
