
#include "command.hpp"
#include "config_file.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct IndexArguments {
  CLI::App* command = nullptr;
  CommonOptions common;
  StageArguments stages;
  std::string output;
};

void run(const IndexArguments& arguments) {
  apply_config_file(*arguments.command);
  const StageArguments& stages = arguments.stages;
  api::IndexOptions options = stages.index;
  options.overwrite = arguments.common.force;
  const Resources resources = make_resources(arguments.common, arguments.output);
  const api::IndexReport report = api::build_index(stages.corpus, arguments.output, options, stages.reading,
                                                   make_work(arguments.common, resources));
  if (arguments.common.json) print(report.figures + "\n");
}

}  // namespace

void add_index_command(CLI::App& program) {
  auto [command, arguments] = add_command<IndexArguments>(
      program, "index", "Build an index from a corpus: parse, order and build in one command", run);
  add_parse_options(command, arguments.stages);
  api::IndexOptions& options = arguments.stages.index;
  std::vector<std::string> orders = names_of(all_orders());
  orders.insert(orders.begin(), options.order);
  add_option(command, "--order", options.order, "NAME",
             with_choices("Order of docIDs:\n  auto: url if all documents have one, else natural", all_orders()))
      ->check(name_validator(orders))
      ->capture_default_str();
  add_order_options(command, options);
  add_build_options(command, options);
  add_forward_option(command, options.forward);
  add_output_options(command, arguments.common, arguments.output, "index");
  add_common_options(command, arguments.common);
  add_config_option(command);
  arguments.command = &command;
  set_notes(command, {},
            {{"quern index corpus.warc.gz -o my.quern"},
             {"quern index --files-from wet.paths.gz --files-root crawl -o my.quern",
              "The files named in a list, such as Common Crawl's, relative to the folder crawl"},
             {"quern index corpus/ --stemmer porter2 --stopwords english --codec rice -o my.quern"},
             {"quern index corpus/ --store-text -o my.quern", "Keep the documents' texts next to the index"},
             {"quern index splade.jsonl.gz --impacts 16 --impact-scale 100 -o splade.quern",
              "Learned term weights instead of texts"},
             {"quern inspect my.quern --config > my.conf", "Build another index with the settings of the first"},
             {"quern index corpus/ --config my.conf -o other.quern"}});
}

}  // namespace quern::tools
