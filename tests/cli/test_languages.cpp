#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// --language: stemmers and stop words.
namespace quern {
namespace {

using namespace testing;

constexpr const char* french_jsonl =
    "{\"id\": \"1\", \"text\": \"Les moulins de la rivi\xC3\xA8re\"}\n"
    "{\"id\": \"2\", \"text\": \"Une rivi\xC3\xA8re sans roue\"}\n";

}  // namespace

TEST_CASE("--language chooses a stemmer and stop words for documents and queries", "[cli][text]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", french_jsonl), index = folder.path("index");
  REQUIRE(run_quern({"index", corpus, "--language", "french", "-o", index}).exit_status == 0);
  CHECK(contains(run_quern({"inspect", index, "--config"}).out, "stemmer = french\nstopwords = french\n"));
  CHECK(run_quern({"analyze", "--index", index, "les Moulins"}).out == "moulin\n");
  CHECK(run_quern({"query", index, "--query", "le moulin de"}).out.starts_with("1 Q0 1 "));
  CHECK(contains(run_quern({"explain", index, "--query", "la moulin", "--docno", "1"}).out, "\nmoulin "));
  const std::string same = folder.path("same");
  REQUIRE(run_quern({"index", corpus, "--stemmer", "french", "--stopwords", "french", "-o", same}).exit_status == 0);
  CHECK(read_file(index + "/index.quern") == read_file(same + "/index.quern"));
  const std::string unstopped = folder.path("unstopped");
  REQUIRE(run_quern({"index", corpus, "--language", "french", "--stopwords", "none", "-o", unstopped}).exit_status ==
          0);
  CHECK(run_quern({"analyze", "--index", unstopped, "les Moulins"}).out == "le moulin\n");
}

TEST_CASE("quern index says once that words are not stemmed, unless something was chosen", "[cli][text]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", french_jsonl), output = folder.path("index");
  const std::string vectors = folder.write("vectors.jsonl", "{\"id\": \"1\", \"vector\": {\"mill\": 3}}\n");
  const auto says = [&](CommandLine options) {
    options.insert(options.begin(), {"index", "-o", output, "--force"});
    const RunOutcome outcome = run_quern(options);
    INFO(outcome.err);
    CHECK(outcome.exit_status == 0);
    return contains(outcome.err, "--language english");
  };
  CHECK(says({corpus}));
  CHECK_FALSE(says({corpus, "--quiet"}));
  CHECK_FALSE(says({corpus, "--language", "none"}));
  CHECK_FALSE(says({corpus, "--language", "french"}));
  CHECK_FALSE(says({corpus, "--stemmer", "none"}));
  CHECK_FALSE(says({vectors, "--impacts", "8"}));
  CHECK(contains(run_quern({"index", vectors, "--impacts", "8", "--language", "english", "-o", output}).err,
                 "--impacts uses terms unchanged; omit --language, --stemmer and --stopwords"));
}

}  // namespace quern
