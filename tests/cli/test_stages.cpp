#include <cstdlib>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/compressing.hpp"

/// The stages separately and together, their figures, and analyzed text.
namespace quern {
namespace {

using namespace testing;

const std::string source_folder = QUERN_SOURCE_DIR;

}  // namespace

TEST_CASE("parse, order and build write the same bytes as index, in every order", "[cli][order]") {
  const TemporaryFolder folder;
  const std::string sample = source_folder + "/sample_data/corpus", collection = folder.path("collection");
  const CommandLine shaping = {"--codec", "rpfd", "--block-size", "64"};
  REQUIRE(run_quern({"parse", sample, "-o", collection, "--stemmer", "porter2"}).exit_status == 0);
  const auto with = [&](CommandLine arguments, const CommandLine& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_quern(arguments);
  };
  CommandLine seen;
  for (const CommandLine& order : {CommandLine{"natural"}, CommandLine{"url"}, CommandLine{"bisection"},
                                   CommandLine{"random", "--seed", "7"}, CommandLine{"random", "--seed", "8"}}) {
    INFO(order.front() << " " << order.back());
    CommandLine by = {"order", collection, "-o", folder.path("order"), "--force", "--by"};
    REQUIRE(with(by, order).exit_status == 0);
    REQUIRE(with({"build", collection, "--order", folder.path("order"), "-o", folder.path("built"), "--force"}, shaping)
                .exit_status == 0);
    CommandLine in_one = {"index", sample, "-o", folder.path("index"), "--force", "--stemmer", "porter2", "--order"};
    in_one.insert(in_one.end(), order.begin(), order.end());
    REQUIRE(with(in_one, shaping).exit_status == 0);
    const std::string bytes = read_file(folder.path("index/index.quern"));
    CHECK(bytes.size() > 100000);
    CHECK(bytes == read_file(folder.path("built/index.quern")));
    for (const std::string& other : seen) CHECK(bytes != other);
    seen.push_back(bytes);
  }
  // Without --order: the corpus's own.
  REQUIRE(with({"build", collection, "-o", folder.path("built"), "--force"}, shaping).exit_status == 0);
  CHECK(read_file(folder.path("built/index.quern")) == seen.front());
}

TEST_CASE("the automatic order is by URL if all documents have one, else natural", "[cli][order]") {
  const TemporaryFolder folder;
  const auto order_of = [&](const std::string& corpus) {
    REQUIRE(run_quern({"index", folder.write("corpus", corpus), "-o", folder.path("index"), "--force"}).exit_status ==
            0);
    return run_quern({"inspect", folder.path("index"), "--json"}).json()["order"].get<std::string>();
  };
  CHECK(order_of(small_trecweb) == "url");
  CHECK(order_of(small_jsonl) == "natural");
  CHECK(order_of("{\"id\":\"a\",\"text\":\"x\",\"url\":\"http://a.example/\"}\n" + small_jsonl) == "natural");
}

TEST_CASE("URL order sorts by reversed host, then path, with documents without a URL last", "[cli][order]") {
  const TemporaryFolder folder;
  std::string corpus;
  for (const char* url : {"", "http://b.example.org/", "http://example.org/z", "http://www.example.com/b",
                          "http://www.example.com/a/c", "", "http://a.example.org/"}) {
    corpus += "{\"id\":\"" + std::string(*url ? url : "none") + "\",\"text\":\"x\"";
    corpus += *url ? ",\"url\":\"" + std::string(url) + "\"}\n" : "}\n";
  }
  REQUIRE(
      run_quern({"index", folder.write("c.jsonl", corpus), "-o", folder.path("index"), "--order", "url"}).exit_status ==
      0);
  CommandLine docnos;
  for (const std::string& line : lines_of(run_quern({"inspect", folder.path("index"), "--docs"}).out))
    docnos.push_back(line.substr(line.find('\t') + 1, line.find('\t', 2) - 2));
  CHECK(docnos == CommandLine{"http://www.example.com/a/c", "http://www.example.com/b", "http://example.org/z",
                              "http://a.example.org/", "http://b.example.org/", "none", "none"});
}

TEST_CASE("No stage passes damage on: every changed byte of its input is found", "[cli][order]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus", small_trecweb), collection = folder.path("collection"),
                    order = folder.path("order"), index = folder.path("index"), damaged = folder.path("damaged");
  REQUIRE(run_quern({"parse", corpus, "-o", collection}).exit_status == 0);
  REQUIRE(run_quern({"order", collection, "--by", "score", "-o", order}).exit_status == 0);
  REQUIRE(run_quern({"build", collection, "--order", order, "-o", index}).exit_status == 0);
  const auto with_damage = [&](const std::string& file, std::size_t at) {
    std::string bytes = read_file(file);
    bytes[at % bytes.size()] ^= 4;
    folder.write("damaged", bytes);
  };
  // Steps that have no common factor with the sizes of sections and numbers.
  for (std::size_t at = 3; at < read_file(collection).size(); at += 53) {
    INFO("byte " << at << " of the collection");
    with_damage(collection, at);
    for (const CommandLine& arguments : {CommandLine{"order", damaged, "-o", folder.path("new")},
                                         CommandLine{"build", damaged, "-o", folder.path("new")}}) {
      const RunOutcome outcome = run_quern(arguments);
      CHECK(outcome.exit_status == 1);
      CHECK(contains(outcome.err, damaged));
    }
  }
  for (std::size_t at = 3; at < read_file(order).size(); at += 29) {
    INFO("byte " << at << " of the order");
    with_damage(order, at);
    CHECK(run_quern({"build", collection, "--order", damaged, "-o", folder.path("new")}).exit_status == 1);
  }
  for (std::size_t at = 3; at < read_file(index + "/index.quern").size(); at += 97) {
    INFO("byte " << at << " of the index");
    with_damage(index + "/index.quern", at);
    CHECK(run_quern({"export", damaged, "--to", "ciff", "-o", folder.path("new")}).exit_status == 1);
  }
  CHECK_FALSE(std::filesystem::exists(folder.path("new")));
}

TEST_CASE("every stage prints its figures as JSON, and is silent with --quiet", "[cli]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.trecweb", small_trecweb), collection = folder.path("collection"),
                    order = folder.path("order"), index = folder.path("index"), index2 = folder.path("index2");
  const RunOutcome parse = run_quern({"parse", corpus, "-o", collection, "--json"});
  const auto parsed = parse.json();
  CHECK(parsed["read"] == 4);
  CHECK(parsed["indexed"] == 4);
  CHECK(parsed["empty"] == 1);
  CHECK(parsed["skipped"] == 0);
  CHECK(parsed["bad"] == 0);
  CHECK(parsed["duplicates"] == 0);
  CHECK(parsed["repaired_utf8"] == 0);
  CHECK(parsed["cut_terms"] == 0);
  CHECK(parsed["links"] == 1);
  CHECK(parsed["tokens"] == 28);
  CHECK(parsed["postings"] == 20);
  CHECK(parsed["terms"] == 20);
  CHECK(parsed["bytes"] == small_trecweb.size() - 4);
  CHECK(contains(parse.err, "4 read, 4 indexed, 1 empty, 0 skipped, 0 bad"));

  const auto ordered = run_quern({"order", collection, "--by", "url", "-o", order, "--json"}).json();
  CHECK(ordered["by"] == "url");
  CHECK(ordered["documents"] == 4);
  const auto built = run_quern({"build", collection, "--order", order, "-o", index, "--json"}).json();
  CHECK(built["documents"] == 4);
  CHECK(built["postings"] == 20);
  CHECK(built["tokens"] == 28);
  CHECK(built["codec"] == "maskpfd");
  CHECK(built["block_size"] == 128);
  CHECK(built["order"] == "url");
  CHECK(built["index_bytes"] == std::filesystem::file_size(index + "/index.quern"));
  const auto both = run_quern({"index", corpus, "-o", index2, "--json"}).json();
  CHECK(both["parse"] == parsed);
  CHECK(both["build"] == built);

  for (const CommandLine& arguments :
       {CommandLine{"parse", corpus, "-o", collection, "--force"},
        CommandLine{"order", collection, "-o", order, "--force"},
        CommandLine{"build", collection, "-o", index, "--force"}, CommandLine{"index", corpus, "-o", index, "--force"},
        CommandLine{"verify", index, collection, order},
        CommandLine{"query", index, "--query", "none", "-o", folder.path("run")}}) {
    INFO(arguments[0]);
    CommandLine quiet = arguments;
    quiet.push_back("--quiet");
    const RunOutcome outcome = run_quern(quiet);
    CHECK(outcome.exit_status == 0);
    // Warnings remain.
    const bool reads_pages = arguments[1] == corpus;
    CHECK(lines_of(outcome.err).size() == (reads_pages ? 1 : 0));
    CHECK(contains(outcome.err, "warning: " + corpus) == reads_pages);
    CHECK(outcome.out.empty());
  }
  const RunOutcome failing = run_quern({"index", folder.path("none"), "-o", index2, "--force", "--quiet"});
  CHECK(failing.exit_status == 1);
  CHECK(failing.err.starts_with("quern: error: "));
}

TEST_CASE("a corpus may be compressed, in several files, and on standard input", "[cli]") {
  const TemporaryFolder folder;
  const auto postings_of = [&](const CommandLine& corpus, const Surroundings& surroundings = {}) {
    CommandLine arguments = {"index", "-o", folder.path("index"), "--force"};
    arguments.insert(arguments.end(), corpus.begin(), corpus.end());
    REQUIRE(run_quern(arguments, surroundings).exit_status == 0);
    return run_quern({"inspect", folder.path("index"), "mill", "water", "wheel"}).out;
  };
  const std::string wanted = postings_of({folder.write("plain.jsonl", small_jsonl)});
  CHECK(contains(wanted, "# mill df 2 cf 3 blocks 1\n# docID\tfrequency\tdocno\n0\t1\ta\n1\t2\tb\n"));
  CHECK(postings_of({folder.write("packed.jsonl.gz", gzipped(small_jsonl))}) == wanted);
  CHECK(postings_of({folder.write("packed.jsonl.zst", zstd_packed(small_jsonl))}) == wanted);
  const std::size_t half = small_jsonl.find('\n') + 1;
  const std::string first = folder.write("two/1.jsonl", small_jsonl.substr(0, half)),
                    second = folder.write("two/2/x.jsonl.gz", gzipped(small_jsonl.substr(half)));
  CHECK(postings_of({first, second}) == wanted);
  CHECK(postings_of({folder.path("two")}) == wanted);
  Surroundings input;
  input.input = small_jsonl;
  CHECK(postings_of({"-"}, input) == wanted);
  input.input = gzipped(small_jsonl);
  CHECK(postings_of({"-"}, input) == wanted);
}

TEST_CASE("a corpus may be lines with tabs, or objects with other keys", "[cli]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  const auto postings_of = [&](const CommandLine& corpus) {
    CommandLine arguments = {"index", "-o", index, "--force"};
    arguments.insert(arguments.end(), corpus.begin(), corpus.end());
    const RunOutcome outcome = run_quern(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.exit_status == 0);
    return run_quern({"inspect", index, "mill", "water", "wheel"}).out;
  };
  const std::string wanted = postings_of({folder.write("plain.jsonl", small_jsonl)});
  const std::string tsv = folder.write("c.tsv", "a\twater mill\nb\twind mill mill\nc\twater wheel\n");
  CHECK(postings_of({tsv, "--format", "tsv"}) == wanted);
  CHECK(contains(run_quern({"index", tsv, "-o", index, "--force"}).err, "--format"));

  const std::string pages = folder.write("p.jsonl",
                                         "{\"id\":1,\"pid\":\"a\",\"passage\":\"water mill\"}\n"
                                         "{\"id\":2,\"pid\":\"b\",\"passage\":\"wind mill mill\"}\n"
                                         "{\"id\":3,\"pid\":\"c\",\"passage\":\"water wheel\"}\n");
  CHECK(postings_of({pages, "--id-field", "pid", "--text-field", "passage"}) == wanted);
  const std::string config = run_quern({"inspect", index, "--config"}).out;
  CHECK(contains(config, "\nid-field = pid\ntext-field = passage\n"));
  CHECK(postings_of({pages, "--config", folder.write("again.conf", config)}) == wanted);
  CHECK(run_quern({"index", tsv, "-o", index, "--force", "--format", "tsv", "--id-field", "pid"}).exit_status == 1);
  CHECK(run_quern({"index", pages, "-o", index, "--force", "--id-field", "pid", "--url-field", "pid"}).exit_status ==
        1);
  for (const std::string wrong : {"", " pid", "p#d", "p\nd"})
    CHECK(run_quern({"index", pages, "-o", index, "--force", "--id-field", wrong}).exit_status == 2);
}

TEST_CASE("analyze shows the terms of documents and queries", "[cli]") {
  CHECK(run_quern({"analyze", "The MILLS, of gods", "Über-x"}).out == "the mills of gods\nüber x\n");
  CHECK(run_quern({"analyze", "The mills of the gods", "--stemmer", "porter2", "--stopwords", "english"}).out ==
        "mill god\n");
  Surroundings input;
  input.input = "Two lines\n\nof text";
  CHECK(run_quern({"analyze"}, input).out == "two lines\n\nof text\n");
  CHECK(run_quern({"analyze", "--json", "a b", "c"}).json() == nlohmann::json{{"a", "b"}, {"c"}});
  input.input = "<title>Mill</title><p>one</p><p>two<script>no</script> three</p>";
  CHECK(run_quern({"analyze", "--html"}, input).out == "mill\none\ntwo three\n");

  const TemporaryFolder folder;
  REQUIRE(run_quern({"index", folder.write("c.jsonl", small_jsonl), "-o", folder.path("index"), "--stemmer", "porter2",
                     "--stopwords", folder.write("words", "the\nwheel\n")})
              .exit_status == 0);
  CHECK(run_quern({"analyze", "--index", folder.path("index"), "The wheels, the WHEEL: mills"}).out == "wheel mill\n");
}

TEST_CASE("the sample data matches its script's output", "[cli][sample]") {
  if (std::system("command -v python3 > /dev/null 2>&1") != 0) {
    WARN("skipped: no python3");
    return;
  }
  CHECK(std::system(
            (source_folder + "/scripts/make_sample_data --check --output " + source_folder + "/sample_data").c_str()) ==
        0);
}

}  // namespace quern
