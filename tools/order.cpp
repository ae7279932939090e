#include <fmt/format.h>

#include <memory>

#include "quern/core/atomic_output.hpp"
#include "quern/formats/order_file.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct Arguments {
  CommonOptions common;
  OrderOptions order;
  std::string collection, output;
};

void run(const Arguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const CollectionReader collection = CollectionReader::open(arguments.collection);
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  const DocumentOrder order = order_named(arguments.order.by).compute(collection, arguments.order, resources);
  write_order(out.file(), order, arguments.order, collection);
  out.commit();
  say(arguments.common, fmt::format("quern: ordered {} documents: {}", order.documents.size(), arguments.order.by));
  if (arguments.common.json)
    print(Json{{"by", arguments.order.by}, {"documents", order.documents.size()}}.dump(1) + "\n");
}

}  // namespace

void add_order_command(CLI::App& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand("order", "Assign docIDs to a collection's documents");
  command->add_option("COLLECTION", arguments->collection, "What quern parse wrote")->type_name("")->required();
  std::string orders;
  for (const OrderMethod* order : all_orders())
    orders += fmt::format("\n  {}: {}", order->name(), order->description());
  command->add_option("--by", arguments->order.by, "The order:" + orders)
      ->type_name("NAME")
      ->check(name_validator(names_of(all_orders())))
      ->capture_default_str();
  add_order_options(*command, arguments->order);
  add_output_options(*command, arguments->common, arguments->output, "order");
  add_common_options(*command, arguments->common);
  command->footer("\nExample:\n  quern order my.collection --by url -o my.order");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
