#include <fmt/format.h>

#include <memory>

#include "quern/formats/order_file.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "order_report.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct OrderArguments {
  CommonOptions common;
  OrderOptions order;
  OrderReportArguments report;
  std::vector<std::string> by;
  PagerankFiles pagerank;
  std::string collection, output;
};

void run(const OrderArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const CollectionReader collection = CollectionReader::open(arguments.collection);
  AtomicOutput out = AtomicOutput::file(arguments.output, arguments.common.force);
  PagerankReport pagerank;
  const DocumentOrder order = make_order(collection, arguments.order, arguments.pagerank, resources, &pagerank);
  write_order(out.file(), order, arguments.order, collection);
  out.commit();
  say_report(arguments.common, pagerank);
  say(arguments.common, fmt::format("quern: ordered {} documents: {}", order.documents.size(), arguments.order.by));
  if (arguments.common.json)
    print(Json{{"by", arguments.order.by}, {"documents", order.documents.size()}, {"pagerank", to_json(pagerank)}}.dump(
              1) +
          "\n");
}

}  // namespace

void add_order_command(CLI::App& program) {
  auto arguments = std::make_shared<OrderArguments>();
  CLI::App* command = program.add_subcommand("order", "Assign docIDs to a collection's documents");
  command->add_option("COLLECTION", arguments->collection, "What quern parse wrote")->type_name("")->required();
  std::string orders;
  for (const OrderMethod* order : all_orders())
    orders += fmt::format("\n  {}: {}", order->name(), order->description());
  command->add_option("--by", arguments->by, "The order, natural unless given; several for --report:" + orders)
      ->type_name("NAME")
      ->check(name_validator(names_of(all_orders())))
      ->delimiter(',')
      ->allow_extra_args(false);
  add_order_options(*command, arguments->order);
  add_order_report_options(*command, arguments->report);
  add_pagerank_file_options(*command, arguments->pagerank);
  add_bm25_options(*command, arguments->order.scores.bm25, "the global scores hold for");
  add_output_options(*command, arguments->common, arguments->output, "order");
  command->get_option("--output")->required(false)->excludes("--report");
  add_common_options(*command, arguments->common);
  command->footer(
      "\nOrders carry the documents' PageRank where pages link to each other or a file is given.\n"
      "\nExamples:\n  quern order my.collection --by url -o my.order\n"
      "  quern order my.collection --by score --alpha 0.6 --pagerank-scale log -o my.order\n"
      "  quern order my.collection --by score --links links.tsv.gz -o my.order\n"
      "  quern order my.collection --by score --pagerank scores.txt -o my.order\n"
      "  quern order my.collection --report --by url,bisection");
  command->callback([arguments] {
    if (arguments->report.is_wanted) {
      run_order_report(arguments->collection, arguments->by, arguments->order, arguments->pagerank, arguments->report,
                       arguments->common);
      return;
    }
    if (arguments->output.empty()) throw CLI::RequiredError("--output or --report");
    if (arguments->by.size() > 1) throw CLI::ValidationError("--by", "several orders are for --report");
    if (!arguments->by.empty()) arguments->order.by = arguments->by.front();
    run(*arguments);
  });
}

}  // namespace quern::tools
