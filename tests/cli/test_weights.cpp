#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/temporary_folder.hpp"

/// Weights of models, on the command line.
namespace quern {
namespace {

using namespace testing;

const std::string sample_corpus = QUERN_SOURCE_DIR "/sample_data/corpus";

RunOutcome run_or_fail(const CommandLine& words) {
  RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  return outcome;
}

}  // namespace

TEST_CASE("stored weights agree with a plain reference in Python", "[cli][weighting]") {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0) {
    WARN("skipped: no python3");
    return;
  }
  const TemporaryFolder folder;
  const std::string command = std::string("python3 '") + QUERN_SOURCE_DIR + "/tests/index/reference_weights.py' '" +
                              QUERN_EXECUTABLE + "' '" + folder.path("") + "' >/dev/null";
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("an index of weights goes through all commands", "[cli][weighting]") {
  const auto [model, parameter, value, config_line] =
      GENERATE(std::tuple("qld:mu=300", "mu", 300.0, "qld:mu=300"),
               std::tuple("bm25f:title=3,k1=2", "title", 3.0, "bm25f:title=3,title_b=0.5,body=1,body_b=0.75,k1=2"));
  const TemporaryFolder folder;
  const std::string index = folder.path("index"), plain = folder.path("plain"), collection = folder.path("collection");
  run_or_fail({"index", sample_corpus, "--stemmer", "porter2", "--weights", model, "--quantize", "12", "--forward",
               "--store-text", "-o", index});
  run_or_fail({"index", sample_corpus, "--stemmer", "porter2", "--forward", "-o", plain});
  run_or_fail({"verify", index});
  const nlohmann::json shown = run_or_fail({"inspect", index, "--json"}).json();
  CHECK(contains(config_line, shown["weights"]["model"].get<std::string>() + ":"));
  CHECK(shown["weights"][parameter] == value);
  CHECK(shown["weights"]["bits"] == 12);
  CHECK_FALSE(shown.contains("given_impacts"));
  // Queries are analyzed, and counts are those of the text.
  const CommandLine query = {"query", index, "--query", "the mills' wheels", "-k", "20"};
  const std::string results = run_or_fail(query).out;
  CHECK(contains(results, "MILL-"));
  for (const char* algorithm : {"or", "wand", "bmw", "maxscore"}) {
    CommandLine words = query;
    words.insert(words.end(), {"-a", algorithm});
    CHECK(run_or_fail(words).out == results);
  }
  std::istringstream best(results);
  std::string topic, tag, docno, rank, score;
  best >> topic >> tag >> docno >> rank >> score;
  const std::string terms = run_or_fail({"explain", index, "--query", "the mills' wheels", "--docno", docno}).out;
  CHECK(contains(terms, "\nscore " + score + "\n"));
  const auto head = [&](const std::string& path) { return lines_of(run_or_fail({"inspect", path, "mill"}).out)[0]; };
  CHECK(head(index) == head(plain));
  CHECK(run_or_fail({"inspect", index, "--docs"}).out == run_or_fail({"inspect", plain, "--docs"}).out);
  const std::string topics = folder.write("topics.tsv", "1\twater mill\n2\tgrinding stones the\n");
  const std::string run = folder.path("first.run");
  run_or_fail({"query", index, "-q", topics, "-k", "30", "-o", run});
  const auto features = [&](const std::string& path) {
    run_or_fail({"features", path, "-q", topics, "--run", run, "-o", folder.path("letor"), "--force"});
    return read_file(folder.path("letor"));
  };
  CHECK(features(index) == features(plain));
  // The settings that inspect prints, and the stages, give the same bytes.
  const std::string config = run_or_fail({"inspect", index, "--config"}).out, again = folder.path("again");
  CHECK(contains(config, "weights = " + std::string(config_line) + "\nquantize = 12\n"));
  run_or_fail({"index", sample_corpus, "--config", folder.write("c.conf", config), "-o", again});
  CHECK(read_file(again + "/index.quern") == read_file(index + "/index.quern"));
  run_or_fail({"parse", sample_corpus, "--stemmer", "porter2", "--store-text", "-o", collection});
  run_or_fail({"order", collection, "--by", "url", "--shards", "2", "-o", folder.path("order")});
  run_or_fail({"statistics", collection, "-o", folder.path("statistics")});
  const CommandLine build = {"build", collection,     "--order",   folder.path("order"), "--weights",
                             model,   "--store-text", "--forward", "--quantize",         "12"};
  std::vector<std::string> shards;
  for (const char* shard : {"1/2", "2/2"}) {
    CommandLine words = build;
    shards.push_back(folder.path("shard" + std::to_string(shards.size())));
    words.insert(words.end(), {"--shard", shard, "--statistics", folder.path("statistics"), "-o", shards.back()});
    run_or_fail(words);
    run_or_fail({"verify", shards.back()});
  }
  run_or_fail({"merge", shards[0], shards[1], "-o", folder.path("merged")});
  CHECK(read_file(folder.path("merged/index.quern")) == read_file(index + "/index.quern"));
  CHECK(run_or_fail({"query", shards[0], shards[1], "--query", "the mills' wheels", "-k", "20"}).out == results);
  run_or_fail({"export", index, "--to", "ciff", "-o", folder.path("ciff")});
  run_or_fail({"import", folder.path("ciff"), "--impacts", "12", "-o", folder.path("imported")});
  run_or_fail({"verify", folder.path("imported")});
  CHECK(run_or_fail({"query", folder.path("imported"), "--query", "mill wheel"}).out ==
        run_or_fail({"query", index, "--query", "mill wheel"}).out);
}

TEST_CASE("wrong options of weighting models are refused", "[cli][weighting]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), out = folder.path("out");
  const std::string index = folder.path("index");
  run_or_fail({"index", corpus, "--weights", "pl2", "-o", index});
  const std::string vectors = folder.write("v.jsonl", "{\"id\": \"a\", \"vector\": {\"water\": 1}}\n");
  struct Case {
    CommandLine words;
    int exit_status;
    std::string message;
  };
  for (const auto& [words, exit_status, message] : {
           Case{{"index", corpus, "--weights", "lm", "-o", out},
                2,
                "use one of qld, qljm, pl2, dph, tfidf, bm25, bm25f"},
           Case{{"index", corpus, "--weights", "qld:c=1", "-o", out}, 2, "no parameter 'c': use mu"},
           Case{{"index", corpus, "--weights", "qljm:lambda=1", "-o", out}, 2, "lambda of the weighting model qljm"},
           Case{{"index", corpus, "--weights", "pl2:1", "-o", out}, 2, "write for example pl2:c=1"},
           Case{{"index", corpus, "--weights", "bm25f:title=1,title=2", "-o", out}, 2, "title of the weighting model"},
           Case{{"index", corpus, "--weights", "bm25f:title_b=2", "-o", out}, 2, "bm25f must be from 0 to 1"},
           Case{{"index", corpus, "--weights", "bm25f", "--k1", "2", "-o", out}, 1, "omit them"},
           Case{{"index", corpus, "--weights", "dph", "--k1", "2", "-o", out}, 1, "omit them"},
           Case{{"index", corpus, "--weights", "dph", "--quantize", "17", "-o", out}, 2, "--quantize"},
           Case{{"index", vectors, "--weights", "dph", "--impacts", "8", "-o", out}, 1, "omit --weights"},
           Case{{"query", index, "--query", "water", "--scores", "exact"}, 2, "--scores"},
           Case{{"query", index, "--query", "water", "--k1", "2"}, 1, "sums of weights of the model pl2; omit --k1"},
           Case{{"query", index, "--query", "water", "--idf", "robertson"}, 1, "--idf"},
           Case{{"query", index, "--query", "water", "--scorer", "bm25+pagerank"}, 1, "--scorer"},
       }) {
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    CHECK(outcome.exit_status == exit_status);
    CHECK(contains(outcome.err, message));
  }
  CHECK_FALSE(std::filesystem::exists(out));
}

}  // namespace quern
