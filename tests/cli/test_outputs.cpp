#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "quern/core/random.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Output appears complete or not at all, and the previous output stays until then.
namespace quern {
namespace {

using namespace testing;

/// A corpus whose index exceeds the file sizes that tests allow.
std::string wide_corpus() {
  RandomBits random(3);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += "{\"id\":\"" + std::to_string(i) + "\",\"contents\":\"";
    for (int j = 0; j < 20; ++j) text += std::to_string(random.next()) + " ";
    text += "\"}\n";
  }
  return text;
}

bool waits_for(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool has_leftovers(const std::string& folder) {
  const CommandLine names = names_in(folder);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return contains(name, ".quern-tmp-"); });
}

}  // namespace

TEST_CASE("existing output is refused, and replaced with --force", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl),
                    other = folder.write("other.jsonl", "{\"id\":\"z\",\"text\":\"z\"}");
  const std::string collection = folder.path("collection"), order = folder.path("order"), index = folder.path("index"),
                    run = folder.path("run");
  const std::vector<std::pair<CommandLine, std::string>> makers = {
      {{"parse", corpus, "-o", collection}, collection},
      {{"order", collection, "--by", "random", "-o", order}, order},
      {{"build", collection, "--order", order, "-o", index}, index + "/index.quern"},
      {{"query", index, "--query", "mill", "-o", run}, run}};
  for (const auto& [arguments, file] : makers) {
    INFO(arguments[0]);
    REQUIRE(run_quern(arguments).exit_status == 0);
    const std::string before = read_file(file);
    REQUIRE(!before.empty());
    const RunOutcome again = run_quern(arguments);
    CHECK(again.exit_status == 1);
    CHECK(contains(again.err, arguments.back() + ": already exists; use --force"));
    CHECK(read_file(file) == before);
    CommandLine forced = arguments;
    forced.push_back("--force");
    CHECK(run_quern(forced).exit_status == 0);
    CHECK(read_file(file) == before);
  }
  CHECK(run_quern({"index", other, "-o", index, "--force"}).exit_status == 0);
  CHECK(run_quern({"inspect", index, "--json"}).json()["documents"] == 1);
  CHECK(names_in(folder.path("")) == CommandLine{"collection", "corpus.jsonl", "index", "order", "other.jsonl", "run"});
}

TEST_CASE("Forcing replaces nothing that Quern did not write", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl);
  folder.write("folder/letter.txt", "keep me");
  folder.write("mixed/index.quern", "x");
  folder.write("mixed/letter.txt", "keep me");
  folder.write("file.txt", "keep me");
  for (const char* name : {"folder", "mixed", "file.txt"}) {
    INFO(name);
    const RunOutcome outcome = run_quern({"index", corpus, "-o", folder.path(name), "--force"});
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, folder.path(name)));
  }
  CHECK(run_quern({"parse", corpus, "-o", folder.path("folder"), "--force"}).exit_status == 1);
  CHECK(read_file(folder.path("folder/letter.txt")) == "keep me");
  CHECK(read_file(folder.path("mixed/letter.txt")) == "keep me");
  CHECK(read_file(folder.path("file.txt")) == "keep me");
}

TEST_CASE("a killed run leaves the old output, and the next one cleans up", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  const std::string before = read_file(index + "/index.quern");
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    INFO("signal " << signal);
    RunningQuern running({"index", "-", "-o", index, "--force"});
    running.write(small_jsonl);
    REQUIRE(waits_for([&] { return has_leftovers(folder.path("")); }));
    // A concurrent run removes no files of this one.
    REQUIRE(run_quern({"index", corpus, "-o", index, "--force"}).exit_status == 0);
    CHECK(has_leftovers(folder.path("")));
    running.kill(signal);
    CHECK(read_file(index + "/index.quern") == before);
    CHECK(run_quern({"verify", index}).exit_status == 0);
    REQUIRE(run_quern({"index", corpus, "-o", index, "--force"}).exit_status == 0);
    CHECK(names_in(folder.path("")) == CommandLine{"corpus.jsonl", "index"});
  }
}

TEST_CASE("Signals that end a command remove its unfinished output", "[cli][output]") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
    INFO("signal " << signal);
    const TemporaryFolder folder;
    RunningQuern running({"index", "-", "-o", folder.path("index")});
    running.write(small_jsonl);
    REQUIRE(waits_for([&] { return has_leftovers(folder.path("")); }));
    CHECK(running.kill(signal) == 128 + signal);
    CHECK(names_in(folder.path("")).empty());
  }
}

TEST_CASE("Closed standard streams are not replaced by files that a command opens", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  const std::string sound = read_file(index + "/index.quern");
  for (const std::vector<int>& closed : {std::vector{2}, std::vector{1}, std::vector{1, 2}, std::vector{0, 1, 2}}) {
    Surroundings surroundings;
    surroundings.closed = closed;
    INFO(closed.size() << " closed streams, the last " << closed.back());
    CHECK(run_quern({"index", corpus, "-o", index, "--force"}, surroundings).exit_status == 0);
    CHECK(read_file(index + "/index.quern") == sound);
    // A lost message, and a lost run.
    CHECK(run_quern({"index", corpus, "-o", index}, surroundings).exit_status == 1);
    const bool prints = std::find(closed.begin(), closed.end(), 1) == closed.end();
    CHECK(run_quern({"query", index, "--query", "mill"}, surroundings).exit_status == (prints ? 0 : 1));
  }
  Surroundings without_input;
  without_input.closed = {0};
  const RunOutcome outcome = run_quern({"query", index, "-q", "-"}, without_input);
  CHECK(outcome.exit_status == 1);
  CHECK(contains(outcome.err, "standard input"));
}

TEST_CASE("A closed pipe for messages or results leaves no unfinished output", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus/corpus.jsonl", small_jsonl), index = folder.path("index");
  folder.write("corpus/README", "About these files.\n");
  const auto in_bash = [](const std::string& script) {
    return WEXITSTATUS(std::system(("bash -c '" + script + "'").c_str()));
  };
  const std::string quern = QUERN_EXECUTABLE;
  CHECK(in_bash(quern + " index " + folder.path("corpus") + " -o " + index + " 2> >(exit)") == 0);
  CHECK(run_quern({"verify", index}).exit_status == 0);
  for (const char* text : {" query --help", " --version", " help query", " completion bash"})
    CHECK(in_bash(quern + text + " 2>&1 | true; exit ${PIPESTATUS[0]}") == 128 + SIGPIPE);
  // The results of a single query don't fill a pipe; those of many do.
  std::string queries;
  for (int i = 0; i < 20000; ++i) queries += std::to_string(i) + ":mill\n";
  const std::string log = folder.write("log", queries);
  CHECK(in_bash(quern + " query " + index + " -q " + log +
                " --quiet 2>&1 | head -1 >/dev/null; exit ${PIPESTATUS[0]}") == 128 + SIGPIPE);
}

TEST_CASE("An index that is truncated while queries read it is an error", "[cli][query][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  RunningQuern running({"query", index, "-q", "-", "--queries-format", "lines", "--batch-wait", "0", "-k", "1"}, true);
  running.write("mill\n");
  CHECK(contains(running.read_line(), "Q0"));
  std::filesystem::resize_file(index + "/index.quern", 0);
  running.write("mill\n");
  CHECK(running.finish() == 1);
}

TEST_CASE("Output to a symbolic link is written to the link's target", "[cli][output]") {
  const TemporaryFolder folder, elsewhere;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  for (const char* target : {"new", "old"}) {
    const std::string link = folder.path(target), run = elsewhere.path(target);
    std::filesystem::create_symlink(run, link);
    if (target == std::string("old")) elsewhere.write("old", "x");
    CHECK(run_quern({"query", index, "--query", "mill", "-o", link, "--force"}).exit_status == 0);
    CHECK(std::filesystem::is_symlink(link));
    CHECK(contains(read_file(run), "Q0"));
  }
  CHECK(names_in(elsewhere.path("")) == CommandLine{"new", "old"});
}

TEST_CASE("a full disk fails each stage, leaves no files and keeps the old output", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", wide_corpus());
  const std::string collection = folder.path("collection"), order = folder.path("order"), index = folder.path("index");
  REQUIRE(run_quern({"parse", corpus, "-o", collection}).exit_status == 0);
  REQUIRE(run_quern({"order", collection, "-o", order}).exit_status == 0);
  REQUIRE(run_quern({"build", collection, "-o", index}).exit_status == 0);
  const CommandLine names = names_in(folder.path(""));
  const CommandLine files = {collection, order, index + "/index.quern"};
  CommandLine before;
  for (const std::string& file : files) before.push_back(read_file(file));
  Surroundings full;
  full.max_file_bytes = 8 << 10;
  for (const CommandLine& arguments :
       {CommandLine{"parse", corpus, "-o", collection, "--force"},
        CommandLine{"order", collection, "-o", order, "--force"},
        CommandLine{"build", collection, "-o", index, "--force"}, CommandLine{"index", corpus, "-o", index, "--force"},
        CommandLine{"index", corpus, "-o", folder.path("new")}}) {
    INFO(arguments[0]);
    const RunOutcome outcome = run_quern(arguments, full);
    INFO(outcome.err);
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, "quern: error: "));
    CHECK(names_in(folder.path("")) == names);
    for (std::size_t i = 0; i < files.size(); ++i) CHECK(read_file(files[i]) == before[i]);
  }
}

TEST_CASE("standard output that can't be written is a failure", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  Surroundings full;
  full.output_path = "/dev/full";
  for (const CommandLine& arguments :
       {CommandLine{"query", index, "--query", "mill"}, CommandLine{"inspect", index},
        CommandLine{"inspect", index, "--docs"}, CommandLine{"inspect", index, "mill"}, CommandLine{"verify", index},
        CommandLine{"analyze", "mill"}, CommandLine{"index", corpus, "-o", folder.path("index2"), "--json"}}) {
    INFO(arguments[0]);
    const RunOutcome outcome = run_quern(arguments, full);
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, "quern: error: "));
    CHECK(contains(outcome.err, "standard output"));
  }
}

TEST_CASE("an output name that is too long is wrong usage, and a long one works", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl);
  const std::string long_name(223, 'x');
  for (const char* command : {"parse", "index"}) {
    const RunOutcome refused = run_quern({command, corpus, "-o", folder.path(long_name + "x")});
    CHECK(refused.exit_status == 2);
    CHECK(contains(refused.err, "the name is 224 bytes; the limit is 223"));
    const RunOutcome done = run_quern({command, corpus, "-o", folder.path(long_name)});
    INFO(done.err);
    CHECK(done.exit_status == 0);
    std::filesystem::remove_all(folder.path(long_name));
  }
  CHECK(names_in(folder.path("")) == CommandLine{"corpus.jsonl"});
}

TEST_CASE("temporary files go to --tmp, and are removed at the end", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl);
  std::filesystem::create_directory(folder.path("tmp"));
  CHECK(run_quern({"index", corpus, "-o", folder.path("index"), "--tmp", folder.path("tmp")}).exit_status == 0);
  CHECK(names_in(folder.path("tmp")).empty());
  const RunOutcome outcome = run_quern({"index", corpus, "-o", folder.path("x"), "--tmp", folder.path("nowhere")});
  CHECK(outcome.exit_status == 1);
  CHECK(contains(outcome.err, folder.path("nowhere")));
  CHECK(names_in(folder.path("")) == CommandLine{"corpus.jsonl", "index", "tmp"});
}

}  // namespace quern
