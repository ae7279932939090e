#include <fmt/format.h>

#include "quern/formats/exchange/inverted_file.hpp"
#include "quern/index/exchange/interchange_format.hpp"

#include "command.hpp"

namespace quern::tools {
namespace {

struct ExportArguments {
  CommonOptions common;
  std::string index, to, output;
};

void run(const ExportArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  index.container().verify(resources);
  interchange_format_named(arguments.to).write(index, arguments.output, arguments.common.force, resources);
  const IndexManifest& manifest = index.manifest();
  say(arguments.common, fmt::format("quern: wrote {} as {}: {}, {}, {}", arguments.output, arguments.to,
                                    count_text(manifest.documents, "document"), count_text(manifest.terms, "term"),
                                    count_text(manifest.postings, "posting")));
  if (arguments.common.json) {
    const Json json = {{"form", arguments.to},
                       {"documents", manifest.documents},
                       {"terms", manifest.terms},
                       {"postings", manifest.postings},
                       {"lengths", name_of_value(lengths_names, manifest.lengths)}};
    print(json.dump(1) + "\n");
  }
}

}  // namespace

void add_export_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<ExportArguments>(program, "export", "Write an index as an inverted file for another engine", run);
  add_index_argument(command, arguments.index);
  add_name_option(command, "--to", arguments.to, all_interchange_formats(),
                  with_choices("Format to write:", all_interchange_formats()))
      ->required();
  add_output_options(command, arguments.common, arguments.output, "file", {ds2i_endings.begin(), ds2i_endings.end()});
  add_common_options(command, arguments.common);
  set_notes(
      command, {},
      {{"quern export my.quern --to ciff -o my.ciff"},
       {"quern export my.quern --to ds2i -o my", "Writes my.docs, my.freqs, my.sizes, my.terms and my.documents"}});
}

}  // namespace quern::tools
