#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Configuration files and the environment.
namespace quern {
namespace {

using namespace testing;

struct Corpus {
  TemporaryFolder folder;
  std::string path = folder.write("corpus.trecweb", small_trecweb);
  std::string index = folder.path("index");

  RunOutcome make(const CommandLine& options, const Surroundings& surroundings = {}) const {
    CommandLine arguments = {"index", path, "-o", index, "--force"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_quern(arguments, surroundings);
  }
  std::string bytes() const { return read_file(index + "/index.quern"); }
  nlohmann::json figures() const { return run_quern({"inspect", index, "--json"}).json(); }
};

}  // namespace

TEST_CASE("a configuration file sets options, and the command line wins over it", "[cli][config]") {
  const Corpus corpus;
  const std::string config = corpus.folder.write(
      "my.conf",
      "# how we build\ncodec = rice\nblock-size=256\n\nk1 = 0.9  # small\nstemmer = porter2\norder = random\n");
  REQUIRE(corpus.make({"--config", config}).exit_status == 0);
  auto figures = corpus.figures();
  CHECK(figures["codec"] == "rice");
  CHECK(figures["block_size"] == 256);
  CHECK(figures["k1"] == 0.9);
  CHECK(figures["b"] == 0.75);
  CHECK(figures["stemmer"] == "porter2");
  CHECK(figures["order"] == "random");
  REQUIRE(corpus.make({"--config", config, "--codec", "rpfd", "--k1", "2"}).exit_status == 0);
  figures = corpus.figures();
  CHECK(figures["codec"] == "rpfd");
  CHECK(figures["k1"] == 2);
  CHECK(figures["block_size"] == 256);
}

TEST_CASE("mistakes in a configuration file are named with their line", "[cli][config]") {
  const Corpus corpus;
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& wrong :
       {Case{"codec = rice\n\nblocksize = 64\n", "line 3: unknown setting 'blocksize'"},
        Case{"config = other.conf\n", "line 1: unknown setting 'config'"},
        Case{"# one\nblock-size = 100\n", "line 2: "}, Case{"codec = rice\nk1 = large\n", "line 2: "},
        Case{"codec = zip\n", "line 1: "}, Case{"# one\nthreads = 0\n", "line 2: --threads: '0' is not"},
        Case{"# one\n [index] \ncodec = rice\n", "line 2: '[index]' begins a section"},
        Case{"codec = rice\n\n[index]\r\n", "line 3: '[index]' begins a section"}, Case{"memory = lots\n", "line 1: "},
        Case{"forward = maybe\n", "line 1: --forward: 'maybe' is not one of true, false"},
        Case{"codec = rice\ncodec = newpfd\n", "line 2: "}, Case{"codec = rice\nwhat is this\n", "line 2: "}}) {
    INFO(wrong.text);
    const std::string config = corpus.folder.write("my.conf", wrong.text);
    const RunOutcome outcome = corpus.make({"--config", config});
    INFO(outcome.err);
    CHECK(outcome.exit_status == 2);
    CHECK(outcome.err.starts_with("quern: error: " + config + ", " + wrong.message));
    CHECK_FALSE(std::filesystem::exists(corpus.index));
  }
}

TEST_CASE("the environment sets threads, memory and temporary folder unless file or command line do", "[cli][config]") {
  const Corpus corpus;
  const auto with = [](const std::string& name, const std::string& value) {
    Surroundings surroundings;
    surroundings.variables = {{name, value}};
    return surroundings;
  };
  // An invalid value shows which one is used.
  const std::string nowhere = corpus.folder.path("nowhere"), here = corpus.folder.path("");
  CHECK(contains(corpus.make({}, with("QUERN_TMP", nowhere)).err, nowhere));
  CHECK(corpus.make({"--tmp", here}, with("QUERN_TMP", nowhere)).exit_status == 0);
  CHECK(corpus.make({"--config", corpus.folder.write("a.conf", "tmp = " + here + "\n")}, with("QUERN_TMP", nowhere))
            .exit_status == 0);
  CHECK(
      corpus.make({"--config", corpus.folder.write("b.conf", "tmp = " + nowhere + "\n"), "--tmp", here}).exit_status ==
      0);
  CHECK(contains(corpus.make({}, with("QUERN_MEMORY", "1M")).err, "32M"));
  for (const char* wrong : {"lots", "1M", "-1", "nan"})
    CHECK(corpus.make({}, with("QUERN_MEMORY", wrong)).exit_status == 2);
  CHECK(contains(corpus.make({}, with("QUERN_MEMORY", "lots")).err, "QUERN_MEMORY"));
  const RunOutcome inspected = run_quern({"inspect", corpus.index}, with("QUERN_MEMORY", "lots"));
  CHECK(inspected.exit_status == 2);
  CHECK(contains(inspected.err, "quern: error: QUERN_MEMORY: 'lots' is not a size"));
  CHECK(corpus.make({"--memory", "1M"}).exit_status == 2);
  CHECK(corpus.make({"--memory", "64M"}, with("QUERN_MEMORY", "1M")).exit_status == 0);
  CHECK(contains(corpus.make({}, with("QUERN_THREADS", "%value%")).err, "QUERN_THREADS: '%value%'"));
  for (const char* wrong : {"100000", "many", "-1"})
    CHECK(corpus.make({}, with("QUERN_THREADS", wrong)).exit_status == 2);
  CHECK(contains(corpus.make({}, with("QUERN_THREADS", "many")).err, "'many' is not a number from 1 to"));
  CHECK(corpus.make({"-j", "1"}, with("QUERN_THREADS", "100000")).exit_status == 0);
  for (const char* name : {"QUERN_THREADS", "QUERN_MEMORY", "QUERN_TMP"})
    CHECK(corpus.make({}, with(name, "")).exit_status == 0);  // as if it were not set
}

TEST_CASE("threads, memory and folders never change the bytes", "[cli][config]") {
  const Corpus corpus;
  std::filesystem::create_directory(corpus.folder.path("tmp"));
  REQUIRE(corpus.make({"-j", "1", "--memory", "32M"}).exit_status == 0);
  const std::string bytes = corpus.bytes();
  REQUIRE(corpus.make({"-j", "4", "--memory", "1G", "--tmp", corpus.folder.path("tmp")}).exit_status == 0);
  CHECK(corpus.bytes() == bytes);
  std::filesystem::copy(corpus.path, corpus.folder.path("elsewhere"));
  REQUIRE(run_quern({"index", corpus.folder.path("elsewhere"), "-o", corpus.folder.path("index2")}).exit_status == 0);
  CHECK(read_file(corpus.folder.path("index2/index.quern")) == bytes);
}

TEST_CASE("the settings that inspect prints reproduce the same bytes", "[cli][config]") {
  const Corpus corpus;
  const std::string words = corpus.folder.write("words.txt", "the\nof  # of what\nÜber a\n");
  for (const CommandLine& options :
       {CommandLine{},
        CommandLine{"--codec", "rpfd", "--recursion", "3", "--block-size", "512", "--k1", "0.9123456789", "--b", "0"},
        CommandLine{"--order", "random", "--seed", "18446744073709551615", "--stemmer", "porter2", "--stopwords",
                    "english"},
        CommandLine{"--stopwords", words, "--format", "trecweb", "--max-document", "1000001", "--duplicates",
                    "refuse"}}) {
    REQUIRE(corpus.make(options).exit_status == 0);
    const std::string bytes = corpus.bytes();
    const RunOutcome settings = run_quern({"inspect", corpus.index, "--config"});
    INFO(settings.out);
    REQUIRE(settings.exit_status == 0);
    REQUIRE(corpus.make({"--config", corpus.folder.write("again.conf", settings.out)}).exit_status == 0);
    CHECK(corpus.bytes() == bytes);
  }
}

}  // namespace quern
