#include <fmt/format.h>

#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct ParseCommandArguments {
  CommonOptions common;
  StageArguments stages;
  std::string range, output;
};

/// "0-4096", bytes of a file; nothing if the text is another.
std::optional<FileRange> file_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  FileRange range;
  if (dash == std::string::npos || !read_number(text.substr(0, dash), range.from) ||
      !read_number(text.substr(dash + 1), range.to) || range.from >= range.to)
    return std::nullopt;
  return range;
}

void run(const ParseCommandArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  ParseOptions options =
      api::index_settings(arguments.stages.corpus, arguments.stages.index, arguments.stages.reading, resources).parse;
  if (!arguments.range.empty()) options.range = file_range(arguments.range);
  api::refuse_overwritten_corpus(options, arguments.output);
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  const ParseReport report = parse_corpus(options, resources, out.file());
  out.commit();
  api::remark_on(report, remarks(arguments.common));
  if (arguments.common.json) print(api::figures_of(report).dump(1) + "\n");
}

}  // namespace

void add_parse_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<ParseCommandArguments>(program, "parse", "Parse a corpus into a collection", run);
  add_parse_options(command, arguments.stages);
  add_option(command, "--range", arguments.range, "FROM-TO",
             "Read only this range of bytes of an uncompressed file, as printed by quern ranges")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return file_range(text) ? std::string() : fmt::format("'{}' is not a range such as 0-4096", text);
          },
          ""))
      ->excludes("--files-from");
  add_output_options(command, arguments.common, arguments.output, "collection");
  add_common_options(command, arguments.common);
  set_notes(command, {},
            {{"quern parse corpus/ -o my.collection"},
             {"quern parse large.warc --range 0-1073741824 -o 1.collection",
              "One part of a file; quern ranges finds such parts"},
             {"quern parse corpus/ --store-text -o my.collection"},
             {"zcat corpus.gz | quern parse - -o my.collection --stemmer porter2 --stopwords english"}});
}

}  // namespace quern::tools
