#include <memory>

#include "quern/formats/order_file.hpp"
#include "quern/io/atomic_output.hpp"

#include "beside_options.hpp"
#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct BuildArguments {
  CommonOptions common;
  BuildOptions build;
  std::string collection, order, output;
  BesideChoice beside;
};

void run(const BuildArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const CollectionReader collection = CollectionReader::open(arguments.collection);
  if (arguments.beside.texts) check_has_texts(collection);
  OrderOptions order_options;
  DocumentOrder order;
  if (arguments.order.empty()) {
    check_build_memory(collection, 0, resources);
    collection.container().verify(resources);
    order = make_order(collection, order_options, {}, resources);
  } else {
    const OrderReader reader = OrderReader::open(arguments.order);
    const OrderManifest& manifest = reader.manifest();
    check_build_memory(collection, unsigned{manifest.has_pagerank} + unsigned{manifest.has_global_scores}, resources);
    collection.container().verify(resources);
    reader.container().verify(resources);
    reader.check_belongs_to(collection);
    order_options = manifest.options;
    order = reader.load();
  }
  arguments.beside.check_memory(collection, resources);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  const BuildReport report = build_index(collection, order, order_options, arguments.build, resources, out.file());
  const BesideReports beside = arguments.beside.write(collection, order, report.index_hash, resources, out);
  out.commit();
  say_report(arguments.common, report, arguments.output);
  say_reports(arguments.common, beside);
  if (!arguments.common.json) return;
  Json json = to_json(report);
  add_to_json(beside, json);
  print(json.dump(1) + "\n");
}

}  // namespace

void add_build_command(CLI::App& program) {
  auto arguments = std::make_shared<BuildArguments>();
  CLI::App* command = program.add_subcommand("build", "Invert a collection into an index");
  add_collection_argument(*command, arguments->collection);
  command
      ->add_option("--order", arguments->order, "The order: what quern order wrote (default: the order of the corpus)")
      ->type_name("FILE");
  add_build_options(*command, arguments->build);
  add_forward_option(*command, arguments->beside.forward);
  command->add_flag(
      "--store-text", arguments->beside.texts,
      "Write the documents' texts beside the index; the collection must have been parsed with --store-text");
  add_output_options(*command, arguments->common, arguments->output, "index");
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern build my.collection --order my.order --codec rice -o my.quern"},
             {"quern build my.collection --store-text -o my.quern"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
