#include <fmt/format.h>

#include "quern/formats/exchange/inverted_file.hpp"
#include "quern/index/exchange/interchange_format.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

constexpr const char* any_format = "auto";

struct ImportArguments {
  CommonOptions common;
  api::IndexOptions index;
  std::string path, from = any_format, output;
};

void run(const ImportArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const InterchangeFormat& format = arguments.from == any_format ? detect_interchange_format(arguments.path)
                                                                 : interchange_format_named(arguments.from);
  ImportOptions options;
  options.source = arguments.path;
  options.format = format.name;
  const IndexSettings settings = api::index_settings(arguments.index);
  options.build = settings.build;
  options.analyzer = settings.parse.analyzer;
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  const BuildReport report = import_index([&](InvertedSink& sink) { format.read(arguments.path, sink, resources); },
                                          options, resources, out.file());
  out.commit();
  show_reports(arguments.common, report, {}, arguments.output);
  if (report.manifest.lengths != Lengths::exact)
    say(arguments.common,
        "quern: the documents' lengths differ from the sums of their frequencies; the index records this");
}

}  // namespace

void add_import_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<ImportArguments>(program, "import", "Build an index from another engine's inverted file", run);
  const std::vector<const char*> ds2i(ds2i_endings.begin(), ds2i_endings.end());
  add_input_option(command, "PATH", arguments.path, "",
                   "The file (plain or compressed), or the common prefix of its files", ds2i)
      ->required();
  std::vector<std::string> formats = names_of(all_interchange_formats());
  formats.insert(formats.begin(), any_format);
  add_option(command, "--from", arguments.from, "NAME",
             with_choices("Format of the file:\n  auto: detect the format", all_interchange_formats()))
      ->check(name_validator(formats))
      ->capture_default_str();
  add_analyzer_options(command, arguments.index);
  add_impacts_option(command, arguments.index.impact_bits,
                     "The file's frequencies are term weights: store them as N-bit integers whose sums are the scores, "
                     "and use the terms of queries unchanged");
  add_build_options(command, arguments.index);
  add_output_options(command, arguments.common, arguments.output, "index");
  set_notes(command,
            {"Give the --stemmer and --stopwords with which the file's terms were produced, since queries go through "
             "the same analyzer."},
            {{"quern import corpus.ciff.gz -o my.quern"},
             {"quern import splade.ciff.gz --impacts 16 -o splade.quern", "An index of learned weights"},
             {"quern import corpus --from ds2i -o my.quern", "Reads corpus.docs, corpus.freqs and so on"}});
}

namespace {

struct ExportArguments {
  CommonOptions common;
  std::string index, to, output;
};

void run(const ExportArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  index.container().verify(resources);
  const InterchangeFormat& format = interchange_format_named(arguments.to);
  format.write(index, arguments.output, arguments.common.force, resources);
  const IndexManifest& manifest = index.manifest();
  say(arguments.common, "quern: wrote {} as {}: {}, {}, {}", arguments.output, format.name,
      count_text(manifest.documents, "document"), count_text(manifest.terms, "term"),
      count_text(manifest.postings, "posting"));
  if (arguments.common.json) {
    const Json json = {{"form", format.name},
                       {"documents", manifest.documents},
                       {"terms", manifest.terms},
                       {"postings", manifest.postings},
                       {"lengths", name_of_value(lengths_names, manifest.lengths)}};
    print_json(json);
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
  set_notes(
      command, {},
      {{"quern export my.quern --to ciff -o my.ciff"},
       {"quern export my.quern --to ds2i -o my", "Writes my.docs, my.freqs, my.sizes, my.terms and my.documents"}});
}

}  // namespace quern::tools
