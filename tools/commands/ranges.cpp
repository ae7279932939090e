#include <fmt/format.h>

#include "quern/corpus/corpus_reader.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct RangesArguments {
  CommonOptions common;
  std::string file;
  CorpusOptions options;
  std::size_t count = 0;
};

void run(const RangesArguments& arguments) {
  const Resources resources = make_resources(arguments.common, "");
  const std::vector<FileRange> ranges = find_ranges(arguments.file, arguments.count, arguments.options, resources);
  Json json = Json::array();
  std::string text;
  for (const FileRange& range : ranges) {
    json.push_back({{"from", range.from}, {"to", range.to}});
    text += fmt::format("{}-{}\n", range.from, range.to);
  }
  print(arguments.common.json ? json.dump(1) + "\n" : text);
}

}  // namespace

void add_ranges_command(CLI::App& program) {
  auto [command, arguments] = add_command<RangesArguments>(
      program, "ranges", "Find ranges of a corpus file that can be parsed on their own", run);
  add_option(command, "FILE", arguments.file, "", "The file, not compressed")->required();
  add_number_option(command, "-n,--count", arguments.count, "N", "Number of ranges, of roughly equal size", 1, 1 << 20)
      ->required();
  add_corpus_format_options(command, arguments.options.format, arguments.options.max_document_bytes);
  add_resource_options(command, arguments.common);
  command.add_flag("--json", arguments.common.json, "Print the ranges as JSON");
  add_common_options(command, arguments.common);
  set_notes(command,
            {"Prints one range per line: the offset of its first byte and that of the first byte after it. Ranges "
             "begin at record boundaries, so together they contain all documents of the file."},
            {{"quern ranges large.warc -n 4"},
             {"for r in $(quern ranges large.warc -n 4); do quern parse large.warc --range $r -o $r.collection; done",
              "Splits of one file; use the same --format and --max-document for quern ranges and quern parse"}});
}

}  // namespace quern::tools
