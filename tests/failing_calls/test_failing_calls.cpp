#include <cerrno>
#include <filesystem>
#include <map>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// System calls fail one by one while a command replaces an output. Afterwards, either the old or the new output
/// exists, complete, and nothing else.
namespace quern {
namespace {

using namespace testing;

struct FailingCall {
  const char* name;
  int error;
};
constexpr FailingCall failing_calls[] = {{"write", ENOSPC},     {"pwrite", ENOSPC}, {"rename", EIO}, {"fsync", EIO},
                                         {"ftruncate", ENOSPC}, {"mmap", ENOMEM},   {"open", EIO}};

/// The bytes of all files in a folder, by relative path; empty for folders.
std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder);
    contents[name] = entry.is_directory() ? "" : read_file(entry.path());
  }
  return contents;
}

/// A command that overwrites another one's output; both command lines end with the output.
struct Overwriting {
  CommandLine before, now;
};

class FailingCalls {
 public:
  FailingCalls() {
    succeed({"parse", corpus, "--store-text", "-o", collection});
    succeed({"order", collection, "--by", "random", "-o", order});
    succeed({"index", corpus, "-o", index});
    succeed({"index", small, "-o", other_index});
  }

  std::vector<Overwriting> commands() const {
    return {{{"parse", small}, {"parse", corpus}},
            {{"order", collection}, {"order", collection, "--by", "score"}},
            {{"build", collection, "--codec", "rice"}, {"build", collection, "--order", order, "--quantize", "8"}},
            {{"build", collection, "--codec", "rice", "--store-text"}, {"build", collection, "--store-text"}},
            {{"index", small}, {"index", corpus}},
            {{"index", small}, {"index", corpus, "--store-text"}},
            {{"plan", index, "-q", log, "--budget", "100%"}, {"plan", index, "-q", log, "--budget", "50%"}},
            {{"query", index, "--query", "stone"}, {"query", index, "-q", log}},
            {{"export", other_index, "--to", "ciff"}, {"export", index, "--to", "ciff"}},
            {{"export", other_index, "--to", "ds2i"}, {"export", index, "--to", "ds2i"}}};
  }

  /// Makes each call of a function fail in turn. Returns the number of calls.
  std::size_t fail_all(const Overwriting& command, const FailingCall& call) {
    const TemporaryFolder out;
    const auto run = [&](CommandLine words, const Surroundings& surroundings) {
      words.insert(words.end(), {"-o", out.path("out"), "--force", "-j", "2"});
      return run_quern(words, surroundings);
    };
    REQUIRE(run(command.now, {}).exit_status == 0);
    const auto wanted = contents_of(out.path(""));
    REQUIRE(run(command.before, {}).exit_status == 0);
    const auto old = contents_of(out.path(""));
    REQUIRE(old != wanted);
    for (std::size_t turn = 1;; ++turn) {
      INFO(command.now.front() << ": call " << turn << " of " << call.name);
      std::filesystem::remove(report);
      Surroundings surroundings;
      surroundings.variables = {{"LD_PRELOAD", QUERN_FAILING_CALLS},
                                {"FAILING_CALL", call.name},
                                {"FAILING_TURN", std::to_string(turn)},
                                {"FAILING_ERROR", std::to_string(call.error)},
                                {"FAILING_REPORT", report}};
      const RunOutcome outcome = run(command.now, surroundings);
      INFO(outcome.err);
      const auto there = contents_of(out.path(""));
      if (outcome.exit_status == 0) {
        CHECK(there == wanted);
        if (!std::filesystem::exists(report)) return turn - 1;
      } else {
        CHECK(outcome.exit_status == 1);
        CHECK(contains(outcome.err, "quern: error: "));
        CHECK((there == old || there == wanted));
      }
      if (there != old) REQUIRE(run(command.before, {}).exit_status == 0);
    }
  }

 private:
  static void succeed(const CommandLine& words) {
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_status == 0);
  }

  TemporaryFolder folder_;

 public:
  const std::string corpus = folder_.write("corpus.trecweb", small_trecweb);
  const std::string small = folder_.write("small.jsonl", small_jsonl);
  const std::string log = folder_.write("log.txt", "mill\nwater mill\nstone\n");
  const std::string collection = folder_.path("collection"), order = folder_.path("order");
  const std::string index = folder_.path("index"), other_index = folder_.path("other");
  const std::string report = folder_.path("failed");
};

}  // namespace

TEST_CASE("a thread that the system refuses is an error with a remedy", "[cli][failing]") {
  if (sanitized) return;  // its library must be loaded first
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.trecweb", small_trecweb), out = folder.path("out");
  // The thread for signals, and those that are tried: the command's own and those that read ahead.
  constexpr int tried = 1 + 3 + 4;
  for (int turn = 1; turn <= tried; ++turn) {
    INFO("thread " << turn);
    Surroundings surroundings;
    surroundings.variables = {{"LD_PRELOAD", QUERN_FAILING_CALLS},
                              {"FAILING_CALL", "pthread_create"},
                              {"FAILING_TURN", std::to_string(turn)},
                              {"FAILING_ERROR", std::to_string(EAGAIN)}};
    const RunOutcome outcome = run_quern({"index", corpus, "-o", out, "-j", "3"}, surroundings);
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, "quern: error: can't start a thread"));
    CHECK(contains(outcome.err, "ulimit -u"));
    CHECK_FALSE(std::filesystem::exists(out));
  }
}

TEST_CASE("for any failing call, a command leaves the old or the new output complete", "[cli][failing]") {
  if (sanitized) return;  // its library must be loaded first
  FailingCalls calls;
  std::size_t failed = 0;
  for (const Overwriting& command : calls.commands()) {
    for (const FailingCall& call : failing_calls) {
      const std::size_t number = calls.fail_all(command, call);
      UNSCOPED_INFO(command.now.front() << ", " << call.name << ": " << number);
      failed += number;
    }
  }
  INFO("calls that failed: " << failed);
  CHECK(failed > 100);
}

}  // namespace quern
