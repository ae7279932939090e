#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Man pages and completions, which the executable generates from its command line.
namespace quern {
namespace {

using namespace testing;

CommandLine words_of(const std::string& line) {
  std::istringstream in(line);
  CommandLine words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// The full names of all commands, for example "quern bench gpu".
CommandLine command_names() { return lines_of(run_quern({"help", "--commands"}).out); }

std::string man_page_of(const std::string& command) {
  CommandLine words = words_of(command);
  words[0] = "help";
  words.push_back("--man");
  const RunOutcome outcome = run_quern(words);
  REQUIRE(outcome.exit_status == 0);
  return outcome.out;
}

/// The names of the options in a command's full help text.
CommandLine options_in(const CommandLine& command) {
  CommandLine words = {"help", "--all"}, options;
  words.insert(words.end(), command.begin() + 1, command.end());
  const std::string help = run_quern(words).out;
  for (const std::string& line : lines_of(help.substr(0, help.find("\nExamples:")))) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start != 2 && start != 6) continue;
    for (const std::string& word : words_of(line)) {
      if (!word.starts_with('-')) break;
      options.push_back(word.substr(0, word.find(',')));
    }
  }
  return options;
}

/// A shell script with quern's completion, and its output.
class ShellScript {
 public:
  ShellScript() : completion_(folder_.write("completion", run_quern({"completion", "bash"}).out)) {
    folder_.write("a.quern", "");
    folder_.write("with a space", "");
  }

  /// The completions that bash offers for the last of these words, in order.
  CommandLine complete(const CommandLine& words) const {
    std::string script = "cd '" + folder_.path("") + "'; source '" + completion_ + "'; COMP_WORDS=(";
    for (const std::string& word : words) script += "'" + word + "' ";
    script += "); COMP_CWORD=" + std::to_string(words.size() - 1) + "; _quern; printf '%s\\n' \"${COMPREPLY[@]}\"";
    return lines_of(output_of("bash --norc", script));
  }
  bool is_valid(const std::string& shell, const std::string& text) const {
    const std::string path = folder_.write("script", text);
    return std::system((shell + " -n '" + path + "'").c_str()) == 0;
  }
  /// A command's output, including diagnostics, for a file with this text.
  std::string output_of(const std::string& command, const std::string& text) const {
    const std::string path = folder_.write("script", text), out = folder_.path("out");
    (void)!std::system((command + " '" + path + "' >'" + out + "' 2>&1").c_str());
    const std::string printed = read_file(out);
    std::filesystem::remove(out);
    std::filesystem::remove(path);
    return printed;
  }

 private:
  TemporaryFolder folder_;
  std::string completion_;
};

bool is_there(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

bool has(const CommandLine& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("Every command has a man page with its options and examples", "[cli][help]") {
  const ShellScript shell;
  for (const std::string& command : command_names()) {
    INFO(command);
    const std::string page = man_page_of(command);
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"})
      CHECK(contains(page, std::string("\n.SH ") + section + "\n"));
    if (!contains(page, ".SH COMMANDS")) CHECK(contains(page, "\n.SH EXAMPLES\n"));
    for (std::string option : options_in(words_of(command))) {
      for (std::size_t at = 0; (at = option.find('-', at)) != option.npos; at += 2) option.insert(at, "\\");
      CHECK(contains(page, "\\fB" + option + "\\fR"));
    }
    if (is_there("groff")) CHECK(shell.output_of("groff -man -Tutf8 -ww -z", page).empty());
  }
}

TEST_CASE("Man pages refer to pages that exist", "[cli][help]") {
  CommandLine pages;
  for (std::string name : command_names()) {
    std::replace(name.begin(), name.end(), ' ', '-');
    pages.push_back(name);
  }
  for (const std::string& command : command_names()) {
    INFO(command);
    for (const std::string& line : lines_of(man_page_of(command))) {
      if (!line.starts_with(".BR ")) continue;
      std::string page = words_of(line)[1];
      std::erase(page, '\\');
      CHECK(has(pages, page));
    }
  }
  CHECK(contains(man_page_of("quern simulate cache"), ".BR quern\\-plan (1)"));
}

TEST_CASE("Completions are valid scripts of their shells", "[cli][help]") {
  const ShellScript shell;
  CHECK(shell.is_valid("bash", run_quern({"completion", "bash"}).out));
  const std::string zsh = run_quern({"completion", "zsh"}).out;
  CHECK(zsh.starts_with("#compdef quern\n"));
  for (const std::string& command : command_names()) {
    std::string function = "\n_" + command + "() {";
    std::replace(function.begin(), function.end(), ' ', '_');
    CHECK(contains(zsh, function.replace(function.size() - 4, 4, "() {")));
  }
  if (is_there("zsh")) CHECK(shell.is_valid("zsh", zsh));
}

TEST_CASE("Bash completes all commands and all of their options", "[cli][help]") {
  const ShellScript shell;
  for (const std::string& command : command_names()) {
    INFO(command);
    CommandLine words = words_of(command);
    if (words.size() > 1) {
      CommandLine start = words;
      start.back().pop_back();
      CHECK(has(shell.complete(start), words.back()));
    }
    const CommandLine options = options_in(words);
    words.push_back("-");
    CHECK(shell.complete(words) == options);
  }
}

TEST_CASE("Bash completes values of options, and files", "[cli][help]") {
  const ShellScript shell;
  CHECK(shell.complete({"quern", "index", "--codec", "r"}) == CommandLine{"rpfd", "rice"});
  CHECK(shell.complete({"quern", "index", "--codec", "=", "ri"}) == CommandLine{"rice"});
  CHECK(shell.complete({"quern", "query", "a.quern", "-a", "b"}) == CommandLine{"bmw", "bmp"});
  CHECK(shell.complete({"quern", "bench", "order", "x", "--by", "url,b"}) == CommandLine{"url,bisection"});
  CHECK(shell.complete({"quern", "query", "a"}) == CommandLine{"a.quern"});
  CHECK(shell.complete({"quern", "query", "--plan", "a"}) == CommandLine{"a.quern"});
  CHECK(shell.complete({"quern", "query", "with"}) == CommandLine{"with a space"});
  CHECK(shell.complete({"quern", "completion", ""}) == CommandLine{"bash", "zsh"});
  CHECK(shell.complete({"quern", "query", "a.quern", "-k", ""}) == CommandLine{""});
}

}  // namespace quern
