#include <iostream>
#include <iterator>

#include "quern/formats/index_file.hpp"
#include "quern/text/analyzer.hpp"
#include "quern/text/html.hpp"
#include "quern/text/utf8.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

using Terms = std::vector<std::string>;

struct AnalyzeArguments {
  CommonOptions common;
  std::vector<std::string> texts;
  std::string index;
  api::IndexOptions analysis;
  bool html = false;
};

AnalyzerOptions chosen_options(const AnalyzeArguments& arguments) {
  if (!arguments.index.empty()) return IndexReader::open(arguments.index).manifest().analyzer;
  return api::index_settings(arguments.analysis).parse.analyzer;
}

/// Prints lists of terms as they come: a line each, or the rows of a JSON array.
class TermPrinter {
 public:
  explicit TermPrinter(bool json) : json_(json) {}

  void put(const Terms& terms) {
    std::string line;
    if (json_) {
      line = (rows_ == 0 ? "[" : ",\n ") + Json(terms).dump();
    } else {
      for (const std::string& term : terms) line.append(line.empty() ? "" : " ").append(term);
      line += '\n';
    }
    ++rows_;
    print(line);
  }

  void finish() const {
    if (json_) print(rows_ == 0 ? "[]\n" : "]\n");
  }

 private:
  bool json_;
  std::size_t rows_ = 0;
};

std::string whole_input(const std::vector<std::string>& texts) {
  if (texts.empty()) return {std::istreambuf_iterator<char>(std::cin), {}};
  std::string joined;
  for (const std::string& text : texts) joined.append(joined.empty() ? "" : "\n").append(text);
  return joined;
}

/// The title's terms, then those of each phrase that has any.
void analyze_page(const std::string& page, Analyzer& analyzer, TermPrinter& printer) {
  std::string repaired;
  repair_utf8(page, repaired);
  DocumentText text;
  HtmlExtractor().extract(repaired, "", text);
  printer.put(analyzer.terms(text.title.str()));
  Terms phrase;
  const auto end_phrase = [&] {
    if (!phrase.empty()) printer.put(phrase);
    phrase.clear();
  };
  analyzer.analyze(
      *text.body.pieces(), [&](std::string_view term) { phrase.emplace_back(term); }, end_phrase);
  end_phrase();
}

void analyze_lines(const std::vector<std::string>& texts, Analyzer& analyzer, TermPrinter& printer) {
  for (const std::string& text : texts) printer.put(analyzer.terms(text));
  if (!texts.empty()) return;
  for (std::string line; std::getline(std::cin, line);) printer.put(analyzer.terms(line));
}

void run(const AnalyzeArguments& arguments) {
  const AnalyzerOptions options = chosen_options(arguments);
  Analyzer analyzer(options);
  TermPrinter printer(arguments.common.json);
  if (arguments.html && options.keeps_words)
    throw usage_error("--html: this index was built from given terms, not from pages");
  if (arguments.html)
    analyze_page(whole_input(arguments.texts), analyzer, printer);
  else
    analyze_lines(arguments.texts, analyzer, printer);
  if (std::cin.bad() || std::ferror(stdin) != 0) throw IoError("reading standard input failed");
  printer.finish();
}

}  // namespace

void add_analyze_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<AnalyzeArguments>(program, "analyze", "Show the terms that text is indexed under", run);
  add_option(command, "TEXT", arguments.texts, "TEXT",
             "Texts, one line of output for each (default: the lines of standard input)");
  add_input_option(command, "--index", arguments.index, "INDEX", "Use the analyzer of this index");
  add_analyzer_options(command, arguments.analysis);
  command.add_flag("--html", arguments.html,
                   "Read the input as one HTML page (UTF-8): print a line for its title, then one for each phrase");
  command.add_flag("--json", arguments.common.json, "Print an array of arrays of terms");
  add_common_options(command, arguments.common);
  set_notes(command, {},
            {{"quern analyze \"The mills of the gods\" --language english"},
             {"quern analyze --index my.quern \"The mills of the gods\""},
             {"quern analyze --html --json < page.html"}});
}

}  // namespace quern::tools
