#pragma once
#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "quern/order/order.hpp"

#include "command.hpp"

/// `quern order --report`: what docID orders of a collection cost and save.
namespace quern::tools {

struct OrderReportArguments {
  bool is_wanted = false;
  unsigned block_size = 128;
};

/// --report and --block-size.
void add_order_report_options(CLI::App& command, OrderReportArguments& arguments);

/// Measures each of these orders, all where none is named, and prints a table, or JSON with --json. `options` has what
/// they share.
void run_order_report(const std::string& collection_path, const std::vector<std::string>& orders, OrderOptions options,
                      const PagerankFiles& files, const OrderReportArguments& arguments, const CommonOptions& common);

}  // namespace quern::tools
