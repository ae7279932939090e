#include <fmt/format.h>

#include <memory>
#include <optional>

#include "quern/formats/collection.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "config_file.hpp"
#include "files_beside.hpp"
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

/// Parse, order and build; collection and order are temporary files.
void run(const IndexArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const ParseOptions options = parse_options(arguments.parse);
  check_build_options(arguments.build);
  std::optional<OrderBy> by;
  if (arguments.order_name != fitting_order) by = find_named(order_names, arguments.order_name, "docID order").value;
  const PagerankInput input = pagerank_input(arguments.pagerank, {by.value_or(OrderBy::natural)});
  refuse_overwritten_corpus(arguments.parse, arguments.output);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);

  auto file = std::make_shared<File>(File::anonymous(resources.tmp_folder));
  const ParseReport parsed = parse_corpus(options, resources, *file);
  say_report(arguments.common, parsed);
  const CollectionReader collection(file);
  check_build_memory(collection, 0, resources);
  const BesideChoice beside_choice{arguments.forward, options.store_text};
  beside_choice.check_memory(collection, resources);
  OrderOptions order_options = arguments.order;
  order_options.scores.bm25 = arguments.build.bm25;
  order_options.by = by.value_or(automatic_order(collection.manifest()));
  PagerankReport pagerank;
  const DocumentOrder order = make_order(collection, order_options, input, resources, &pagerank);
  say_report(arguments.common, pagerank);
  const BuildReport built = build_index(collection, order, order_options, arguments.build, resources, out.file());
  const BesideReports beside = beside_choice.write(collection, order, built.index_hash, resources, out);
  out.commit();
  say_report(arguments.common, built, arguments.output);
  say_reports(arguments.common, beside);
  if (!arguments.common.json) return;
  Json json{{"parse", to_json(parsed)}, {"pagerank", to_json(pagerank)}, {"build", to_json(built)}};
  add_to_json(beside, json);
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
             {"quern index corpus/ --stemmer porter2 --stopwords english --codec rice -o my.quern"},
             {"quern index corpus/ --store-text -o my.quern", "Keep the documents' texts beside the index"},
             {"quern inspect my.quern --config > my.conf", "Build another index with the settings of the first"},
             {"quern index corpus/ --config my.conf -o other.quern"}});
  command->callback([command, arguments] {
    apply_config_file(*command);
    run(*arguments);
  });
}

}  // namespace quern::tools
