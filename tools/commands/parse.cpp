#include <memory>

#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct ParseCommandArguments {
  CommonOptions common;
  ParseArguments parse;
  std::string output;
};

void run(const ParseCommandArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const ParseOptions options = parse_options(arguments.parse, resources);
  refuse_overwritten_corpus(options, arguments.output);
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  const ParseReport report = parse_corpus(options, resources, out.file());
  out.commit();
  say_report(arguments.common, report);
  if (arguments.common.json) print(to_json(report).dump(1) + "\n");
}

}  // namespace

void add_parse_command(CLI::App& program) {
  auto arguments = std::make_shared<ParseCommandArguments>();
  CLI::App* command = program.add_subcommand("parse", "Parse a corpus into a collection");
  add_parse_options(*command, arguments->parse);
  add_output_options(*command, arguments->common, arguments->output, "collection");
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern parse corpus/ -o my.collection"},
             {"quern parse corpus/ --store-text -o my.collection"},
             {"zcat corpus.gz | quern parse - -o my.collection --stemmer porter2 --stopwords english"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
