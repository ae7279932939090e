#pragma once
#include <stdexcept>
#include <string>

#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/temporary_folder.hpp"

namespace quern::testing {

/// An index of small_trecweb built with the executable, and commands that get it as first argument.
struct MillIndex {
  TemporaryFolder folder;
  std::string index = folder.path("index");

  MillIndex() {
    const RunOutcome made = run_quern({"index", folder.write("c.trecweb", small_trecweb), "-o", index});
    if (made.exit_status != 0) throw std::runtime_error(made.err);
  }
  RunOutcome query(const CommandLine& options, const std::string& input = {}) const {
    return run("query", options, input);
  }
  RunOutcome intersect(const CommandLine& options, const std::string& input = {}) const {
    return run("intersect", options, input);
  }
  /// Queries that arrive over time, on standard input.
  CommandLine stream_command(const CommandLine& options) const { return command("query", {"-q", "-"}, options); }
  RunOutcome stream(const CommandLine& options, const std::string& input) const {
    return run_with(stream_command(options), input);
  }

 private:
  CommandLine command(const std::string& name, CommandLine first, const CommandLine& options) const {
    first.insert(first.begin(), {name, index});
    first.insert(first.end(), options.begin(), options.end());
    return first;
  }
  RunOutcome run(const std::string& name, const CommandLine& options, const std::string& input) const {
    return run_with(command(name, {}, options), input);
  }
  static RunOutcome run_with(const CommandLine& words, const std::string& input) {
    Surroundings surroundings;
    surroundings.input = input;
    return run_quern(words, surroundings);
  }
};

}  // namespace quern::testing
