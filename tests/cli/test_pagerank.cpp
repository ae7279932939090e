#include <map>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Links and PageRank from the shell.
namespace quern {
namespace {

using namespace testing;

/// An index or order of four pages, the first of which links to the third.
struct Files {
  TemporaryFolder folder;
  std::string corpus = folder.write("corpus.trecweb", small_trecweb);
  std::string collection = folder.path("collection"), index = folder.path("index"), order = folder.path("order");

  Files() { REQUIRE(run_quern({"parse", corpus, "-o", collection}).exit_status == 0); }

  RunOutcome make_index(const CommandLine& options) const {
    return with({"index", corpus, "-o", index, "--force"}, options);
  }
  RunOutcome make_order(const CommandLine& options) const {
    return with({"order", collection, "-o", order, "--force"}, options);
  }
  /// The index's PageRank by docno.
  std::map<std::string, double> pageranks() const {
    std::map<std::string, double> ranks;
    for (const std::string& line : lines_of(run_quern({"inspect", index, "--docs"}).out)) {
      CommandLine columns = {""};
      for (const char c : line) c == '\t' ? columns.emplace_back() : columns.back() += c, void();
      ranks[columns.at(1)] = std::stod(columns.at(4));
    }
    return ranks;
  }

 private:
  static RunOutcome with(CommandLine arguments, const CommandLine& options) {
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_quern(arguments);
  }
};

}  // namespace

TEST_CASE("inspect --links prints a collection's links, with --json their counts", "[cli][links]") {
  const Files files;
  const RunOutcome links = run_quern({"inspect", files.collection, "--links"});
  CHECK(links.out == "http://www.mill.example/wheel\thttp://www.mill.example/stone\n");
  CHECK(contains(links.err, "1 link: 1 distinct between documents, 0 leave the collection"));
  const auto counts = run_quern({"inspect", files.collection, "--links", "--json"}).json();
  CHECK(counts["edges"] == 1);
  CHECK(counts["leaving"] == 0);
  REQUIRE(files.make_index({}).exit_status == 0);
  CHECK(run_quern({"inspect", files.index, "--links"}).exit_status == 1);
}

TEST_CASE("an index stores its pages' PageRank and its origin on request", "[cli][pagerank]") {
  const Files files;
  const RunOutcome made = files.make_index({"--pagerank", "links", "--pagerank-scale", "linear", "--json"});
  REQUIRE(made.exit_status == 0);
  CHECK(contains(made.err, "1 link: 1 distinct between documents"));
  CHECK(made.json()["pagerank"]["from"] == "links");
  CHECK(made.json()["pagerank"]["links"]["edges"] == 1);
  CHECK(made.json()["pagerank"]["dangling"] == 3);
  const auto ranks = files.pageranks();
  CHECK(ranks.at("M-3") == 1);
  for (const char* other : {"M-1", "M-2", "M-4"}) CHECK(ranks.at(other) == Approx(1 / 1.85));
  const auto scores = run_quern({"inspect", files.index, "--json"}).json()["scores"];
  CHECK(scores["pagerank_from"] == "links");
  CHECK(scores["pagerank_scale"] == "linear");
}

TEST_CASE("PageRank comes from a link file or a score file if one is given", "[cli][pagerank]") {
  const Files files;
  const std::string links = files.folder.write("links", "M-3\tM-1\nM-3\tM-9\nhttp://a.example/wind\tM-1\n");
  const RunOutcome linked = files.make_order({"--links", links, "--json"});
  REQUIRE(linked.exit_status == 0);
  CHECK(contains(linked.err, "3 links in the file: 2 distinct between documents, 1 with an unknown document"));
  CHECK(linked.json()["pagerank"]["from"] == "link file");
  const auto from_links = run_quern({"inspect", files.order, "--json"}).json()["scores"];
  CHECK(from_links["pagerank_from"] == "link file");
  CHECK(from_links["pagerank_file_hash"] == linked.json()["pagerank"]["file_hash"]);

  const std::string scores = files.folder.write("scores", "M-1 1\nM-2\t4\nM-9 7\n");
  const RunOutcome scored = files.make_index({"--pagerank", scores, "--pagerank-scale", "linear"});
  REQUIRE(scored.exit_status == 0);
  CHECK(contains(scored.err, "read PageRank of 2 documents from the file"));
  CHECK(contains(scored.err, "2 documents without a score in the file get 0"));
  CHECK(contains(scored.err, "1 line with unknown documents in the file"));
  CHECK(files.pageranks() == std::map<std::string, double>{{"M-1", 0.25}, {"M-2", 1.0}, {"M-3", 0.0}, {"M-4", 0.0}});
}

TEST_CASE("bad link and score files are named with the line, and nothing is written", "[cli][pagerank]") {
  const Files files;
  const std::string links = files.folder.write("links", "M-1\tM-2\nM-1 M-2\n");
  const std::string scores = files.folder.write("scores", "M-1\t1\nM-2\tNaN\n");
  for (const auto& [option, path] : {std::pair("--links", links), std::pair("--pagerank", scores)}) {
    const RunOutcome outcome = files.make_order({option, path});
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, "quern: error: " + path + ", line 2: "));
    CHECK_FALSE(std::filesystem::exists(files.order));
    CHECK(files.make_order({option, files.folder.path("nowhere")}).exit_status == 1);
  }
}

TEST_CASE("PageRank is computed only if it is needed", "[cli][pagerank]") {
  const Files files;
  const auto has_pagerank = [&](const RunOutcome& made) {
    INFO(made.err);
    REQUIRE(made.exit_status == 0);
    return run_quern({"inspect", files.order, "--json"}).json().contains("scores");
  };
  const RunOutcome plain = files.make_order({"--by", "url", "--json"});
  CHECK_FALSE(has_pagerank(plain));
  CHECK(plain.json()["pagerank"]["from"].is_null());
  CHECK_FALSE(contains(plain.err, "link"));
  CHECK_FALSE(has_pagerank(files.make_order({"--by", "url", "--pagerank", "none"})));
  CHECK(has_pagerank(files.make_order({"--by", "url", "--pagerank", "links"})));
  CHECK(has_pagerank(files.make_order({"--by", "score"})));
  CHECK(has_pagerank(files.make_order({"--by", "score", "--pagerank", "links"})));
}

TEST_CASE("an option that contradicts --pagerank is wrong usage", "[cli][pagerank]") {
  const Files files;
  const std::string links = files.folder.write("links", "M-1\tM-2\n");
  CHECK(files.make_order({"--links", links, "--pagerank", "links"}).exit_status == 0);
  for (const CommandLine& options : {CommandLine{"--links", links, "--pagerank", "none"},
                                     CommandLine{"--links", links, "--pagerank", files.folder.write("scores", "")}}) {
    for (const RunOutcome& outcome : {files.make_order(options), files.make_index(options)}) {
      CHECK(outcome.exit_status == 2);
      CHECK(contains(outcome.err, "implies --pagerank links"));
    }
  }
  const RunOutcome ordered = files.make_order({"--by", "score", "--pagerank", "none"});
  CHECK(ordered.exit_status == 2);
  CHECK(contains(ordered.err, "the order score needs PageRank"));
  CHECK(files.make_index({"--order", "score", "--pagerank", "none"}).exit_status == 2);
  CHECK_FALSE(std::filesystem::exists(files.index));
}

TEST_CASE("a score file with the name none or links is written ./none or ./links", "[cli][pagerank]") {
  const Files files;
  Surroundings in_folder;
  in_folder.working_folder = files.folder.path("");
  const auto source = [&](const std::string& pagerank) {
    const RunOutcome made =
        run_quern({"order", "collection", "-o", "order", "--force", "--pagerank", pagerank, "--json"}, in_folder);
    INFO(made.err);
    REQUIRE(made.exit_status == 0);
    return made.json()["pagerank"]["from"];
  };
  for (const char* name : {"none", "links"}) files.folder.write(name, "M-1 1\n");
  CHECK(source("none").is_null());
  CHECK(source("links") == "links");
  CHECK(source("./none") == "score file");
  CHECK(source("./links") == "score file");
}

TEST_CASE("bm25+pagerank on an index without PageRank names the option that stores it", "[cli][pagerank]") {
  const Files files;
  REQUIRE(files.make_index({}).exit_status == 0);
  const CommandLine query = {"query", files.index, "--query", "wheel", "--scorer", "bm25+pagerank"};
  const RunOutcome refused = run_quern(query);
  CHECK(refused.exit_status == 1);
  CHECK(contains(refused.err, "quern index --pagerank links"));
  REQUIRE(files.make_index({"--pagerank", "links"}).exit_status == 0);
  CHECK(run_quern(query).exit_status == 0);
}

TEST_CASE("without links all pages have the same PageRank, and a message says so", "[cli][pagerank]") {
  const Files files;
  const std::string none = files.folder.write("none", "");
  const RunOutcome outcome = files.make_index({"--links", none});
  REQUIRE(outcome.exit_status == 0);
  CHECK(contains(outcome.err, "all documents have the same PageRank"));
  for (const auto& [docno, rank] : files.pageranks()) CHECK(rank == 1);
}

TEST_CASE("the printed configuration of an index with PageRank reproduces the same index", "[cli][pagerank][config]") {
  const Files files;
  for (const CommandLine& order : {CommandLine{"--order", "score"}, CommandLine{"--pagerank", "links"}}) {
    CommandLine options = {"--alpha", "0.625", "--pagerank-scale", "log", "--k1", "0.9"};
    options.insert(options.end(), order.begin(), order.end());
    REQUIRE(files.make_index(options).exit_status == 0);
    const std::string bytes = read_file(files.index + "/index.quern");
    const std::string config = run_quern({"inspect", files.index, "--config"}).out;
    CHECK(contains(config, "alpha = 0.625\n"));
    CHECK(contains(config, "pagerank = links\n"));
    REQUIRE(files.make_index({"--config", files.folder.write("again.conf", config)}).exit_status == 0);
    CHECK(read_file(files.index + "/index.quern") == bytes);
  }
}

TEST_CASE("bench pagerank measures a link file's graph or a collection's", "[cli][measure][pagerank]") {
  const Files files;
  const std::string links = files.folder.write("links", "x\ty\ny\tz\nz\tx\nx\tz\n");
  const RunOutcome outcome = run_quern({"bench", "pagerank", "--links", links, "--docs", "10", "--repeats", "1",
                                        "--tmp", files.folder.path(""), "--json", "--quiet"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  const auto json = outcome.json();
  CHECK(json["bench"] == "pagerank");
  CHECK(json["documents"] == 10);
  CHECK(json["links"]["edges"] == 4);
  CHECK(json["iterations"] > 1);
  CHECK(json["seconds_an_iteration"] > 0);
  CHECK(json["peak_memory_bytes"] > 0);
  CHECK(json["environment"]["command_line"].is_string());
  const RunOutcome own =
      run_quern({"bench", "pagerank", files.collection, "--repeats", "1", "--tmp", files.folder.path("")});
  CHECK(contains(own.out, "4 documents, 1 links"));
  CHECK(run_quern({"bench", "pagerank"}).exit_status == 2);
}

}  // namespace quern
