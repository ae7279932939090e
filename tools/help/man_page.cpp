#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <iterator>
#include <sstream>

#include "help/help.hpp"

namespace quern::tools {
namespace {

enum class Hyphens { prose, literal };

/// Text that roff shows as it is. Literal hyphens are those of options, which a reader may copy.
std::string roff(const std::string& text, Hyphens hyphens = Hyphens::prose) {
  constexpr std::pair<char, const char*> escapes[] = {
      {'\\', "\\e"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  for (const char c : text) {
    const auto* const escape = std::ranges::find(escapes, c, &std::pair<char, const char*>::first);
    if (escape != std::end(escapes))
      out += escape->second;
    else if (c == '-' && hyphens == Hyphens::literal)
      out += "\\-";
    else
      out += c;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

/// Prose in which words that begin with - are options.
std::string prose(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) {
    const std::size_t start = word.find_first_not_of("(\"");
    const bool is_option = start != word.npos && word[start] == '-' && word.size() > start + 1;
    out += (out.empty() ? "" : " ") + roff(word, is_option ? Hyphens::literal : Hyphens::prose);
  }
  return out + "\n";
}

std::string bold(const std::string& text) { return "\\fB" + roff(text, Hyphens::literal) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text, Hyphens::literal) + "\\fR"; }

std::string capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// "quern-bench-gpu"
std::string page_name(const CommandText& command) { return command.full_name("-"); }

std::string heading(const OptionText& option) {
  const bool is_argument = !option.names.front().starts_with('-');
  std::string out;
  for (const std::string& name : option.names)
    out += (out.empty() ? "" : ", ") + (is_argument ? italic(name + (option.repeats ? "..." : "")) : bold(name));
  if (!is_argument && !option.value.empty()) out += " " + italic(option.value_text());
  return out + "\n";
}

void append_option(std::string& out, const OptionText& option) {
  out += ".TP\n" + heading(option);
  std::istringstream lines(option.full_description());
  std::string line;
  std::getline(lines, line);
  out += line.empty() ? "\\&\n" : prose(line);
  if (!option.has_list()) return;
  out += ".RS\n";
  while (std::getline(lines, line)) {
    const std::size_t start = line.find_first_not_of(' '), colon = line.find(": ");
    if (start == line.npos) continue;
    if (colon == line.npos)
      out += ".PP\n" + prose(line);
    else
      out += ".TP\n" + bold(line.substr(start, colon - start)) + "\n" + prose(line.substr(colon + 2));
  }
  out += ".RE\n";
}

void append_examples(std::string& out, const CommandText& command) {
  if (command.examples.empty()) return;
  out += ".SH EXAMPLES\n";
  bool first = true;
  for (const Example& example : command.examples) {
    if (!first) out += ".PP\n";
    first = false;
    if (!example.remark.empty()) out += prose(example.remark);
    out += ".nf\n.RS\n" + roff(example.line, Hyphens::literal) + "\n.RE\n.fi\n";
  }
}

/// Whether a text names a command: "quern plan", but not "quern planner".
bool names_command(const std::string& text, const std::string& command) {
  for (std::size_t at = text.find(command); at != text.npos; at = text.find(command, at + 1)) {
    const std::size_t end = at + command.size();
    if (end == text.size() || (std::isalnum(static_cast<unsigned char>(text[end])) == 0 && text[end] != '-'))
      return true;
  }
  return false;
}

/// The page above, those below, and those of commands that this one's text names.
std::vector<std::string> related_pages(const CommandText& command, const CommandText& program) {
  std::string text;
  for (const OptionText& option : command.options) text += option.description + "\n";
  for (const OptionText& argument : command.arguments) text += argument.description + "\n";
  for (const std::string& note : command.notes) text += note + "\n";
  for (const Example& example : command.examples) text += example.line + "\n";
  std::vector<std::string> pages;
  for (const CommandText* other : with_all_below(program)) {
    if (other == &command) continue;
    std::vector<std::string> above = other->path;
    above.pop_back();
    const bool is_above = std::equal(other->path.begin(), other->path.end(), command.path.begin(),
                                     command.path.begin() + std::min(other->path.size(), command.path.size()));
    const bool is_named = other->path.size() > 1 && names_command(text, other->full_name());
    if (page_name(*other) != page_name(command) && (is_above || above == command.path || is_named))
      pages.push_back(page_name(*other));
  }
  return pages;
}

void append_see_also(std::string& out, const CommandText& command, const CommandText& program) {
  const std::vector<std::string> pages = related_pages(command, program);
  if (pages.empty()) return;
  out += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < pages.size(); ++i)
    out += ".BR " + roff(pages[i], Hyphens::literal) + " (1)" + (i + 1 < pages.size() ? "," : "") + "\n";
}

}  // namespace

std::string man_page(const CommandText& command, const CommandText& program) {
  const std::string name = page_name(command);
  std::string summary = command.summary;
  std::string out =
      fmt::format(".TH {} 1 \"\" \"Quern {}\" \"Quern Manual\"\n", roff(capitals(name), Hyphens::literal), version());
  out += ".SH NAME\n" + roff(name, Hyphens::literal) + " \\- " + roff(summary) + "\n";
  out += ".SH SYNOPSIS\n" + bold(command.full_name());
  out += roff(command.usage().substr(command.full_name().size())) + "\n";
  out += ".SH DESCRIPTION\n" + prose(summary + ".");
  for (const std::string& note : command.notes) out += ".PP\n" + prose(note);
  if (!command.commands.empty()) out += ".SH COMMANDS\n";
  for (const CommandText& below : command.commands) out += ".TP\n" + bold(below.name()) + "\n" + prose(below.summary);
  out += ".SH OPTIONS\n";
  for (const OptionText& argument : command.arguments) append_option(out, argument);
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    const OptionText& option = command.options[i];
    if (i == 0 || option.heading != command.options[i - 1].heading) out += ".SS " + roff(option.heading) + "\n";
    append_option(out, option);
  }
  append_examples(out, command);
  out += ".SH EXIT STATUS\n";
  for (const auto& [status, meaning] : exit_statuses) out += fmt::format(".TP\n{}\n{}\n", status, meaning);
  append_see_also(out, command, program);
  return out;
}

}  // namespace quern::tools
