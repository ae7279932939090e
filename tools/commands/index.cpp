#include <memory>

#include "quern/index/make_index.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "config_file.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

/// `url` if all documents have a URL, else `natural`.
constexpr const char* fitting_order = "auto";

struct IndexArguments {
  CommonOptions common;
  ParseArguments parse;
  OrderOptions order;
  PagerankArguments pagerank;
  BuildOptions build;
  std::string order_name = fitting_order, output;
  bool forward = false;
};

IndexSettings settings_of(const IndexArguments& arguments, const Resources& resources) {
  IndexSettings settings;
  settings.parse = parse_options(arguments.parse, resources);
  settings.build = arguments.build;
  settings.build.impacts = settings.parse.impacts;
  check_build_options(settings.build);
  if (arguments.order_name != fitting_order)
    settings.by = find_named(order_names, arguments.order_name, "docID order").value;
  settings.order = arguments.order;
  settings.pagerank = pagerank_input(arguments.pagerank, {settings.by.value_or(OrderBy::natural)});
  settings.forward = arguments.forward;
  return settings;
}

void run(const IndexArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexSettings settings = settings_of(arguments, resources);
  refuse_overwritten_corpus(settings.parse, arguments.output);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  const IndexReports reports =
      make_index(settings, resources, out,
                 {[&](const ParseReport& parsed) { say_report(arguments.common, parsed); },
                  [&](const PagerankReport& pagerank) { say_report(arguments.common, pagerank); }});
  out.commit();
  say_report(arguments.common, reports.build, arguments.output);
  say_reports(arguments.common, reports.beside);
  if (!arguments.common.json) return;
  Json json{
      {"parse", to_json(reports.parse)}, {"pagerank", to_json(reports.pagerank)}, {"build", to_json(reports.build)}};
  add_to_json(reports.beside, json);
  print(json.dump(1) + "\n");
}

}  // namespace

void add_index_command(CLI::App& program) {
  auto arguments = std::make_shared<IndexArguments>();
  CLI::App* command =
      program.add_subcommand("index", "Build an index from a corpus: parse, order and build in one command");
  add_parse_options(*command, arguments->parse);
  std::vector<std::string> orders = names_of(all_orders());
  orders.insert(orders.begin(), fitting_order);
  command
      ->add_option("--order", arguments->order_name,
                   with_choices("Order of docIDs:\n  auto: url if all documents have one, else natural", all_orders()))
      ->type_name("NAME")
      ->check(name_validator(orders))
      ->capture_default_str();
  add_order_options(*command, arguments->order);
  add_pagerank_options(*command, arguments->pagerank);
  add_build_options(*command, arguments->build);
  add_forward_option(*command, arguments->forward);
  add_output_options(*command, arguments->common, arguments->output, "index");
  add_common_options(*command, arguments->common);
  add_config_option(*command);
  set_notes(*command, {},
            {{"quern index corpus.warc.gz -o my.quern"},
             {"quern index --files-from wet.paths.gz --files-root crawl -o my.quern",
              "The files that a list names, as those of Common Crawl, below the folder crawl"},
             {"quern index corpus/ --stemmer porter2 --stopwords english --codec rice -o my.quern"},
             {"quern index corpus/ --store-text -o my.quern", "Keep the documents' texts next to the index"},
             {"quern index splade.jsonl.gz --impacts 16 --impact-scale 100 -o splade.quern",
              "Weights of terms that a model has learned, instead of texts"},
             {"quern inspect my.quern --config > my.conf", "Build another index with the settings of the first"},
             {"quern index corpus/ --config my.conf -o other.quern"}});
  command->callback([command, arguments] {
    apply_config_file(*command);
    run(*arguments);
  });
}

}  // namespace quern::tools
