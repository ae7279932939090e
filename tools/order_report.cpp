#include "order_report.hpp"

#include <fmt/format.h>

#include "quern/measure/order_bench.hpp"

#include "bench.hpp"

namespace quern::tools {
namespace {

Json figures_json(const OrderFigures& figures) {
  Json json = {{"by", figures.by},
               {"seconds", figures.seconds},
               {"peak_bytes", figures.peak_bytes ? Json(*figures.peak_bytes) : Json()},
               {"gap_entropy_bits_per_posting", figures.gap_entropy_bits}};
  for (const CodecBits& bits : figures.codecs) {
    json["codecs"].push_back({{"codec", bits.codec->name()},
                              {"docid_bits_per_posting", bits.docid},
                              {"freq_bits_per_posting", bits.freq},
                              {"directory_bits_per_posting", bits.directory}});
  }
  return json;
}

void print_columns() {
  print(fmt::format("{:<12}{:>9}{:>9}{:>9}  {:<8}{:>9}{:>9}{:>9}{:>9}\n", "order", "seconds", "peak MB", "entropy",
                    "codec", "docIDs", "freqs", "rows", "sum"));
}

/// A line a codec; what does not hang on the codec stands in the first.
void print_figures(const OrderFigures& figures) {
  const std::string peak =
      figures.peak_bytes ? fmt::format("{:.1f}", static_cast<double>(*figures.peak_bytes) / 1e6) : "unknown";
  std::string order =
      fmt::format("{:<12}{:>9.3f}{:>9}{:>9.3f}", figures.by, figures.seconds, peak, figures.gap_entropy_bits);
  for (const CodecBits& bits : figures.codecs) {
    print(fmt::format("{:<39}  {:<8}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}\n", order, bits.codec->name(), bits.docid,
                      bits.freq, bits.directory, bits.docid + bits.freq + bits.directory));
    order.clear();
  }
}

}  // namespace

void add_order_report_options(CLI::App& command, OrderReportArguments& arguments) {
  CLI::Option* report =
      command.add_flag("--report", arguments.is_wanted,
                       "Print what orders (all, or those of --by) cost and what lists take in them; write no order");
  command.add_option("--block-size", arguments.block_size, "Postings a block, for the report")
      ->type_name("N")
      ->check(name_validator({"64", "128", "256", "512"}))
      ->needs(report)
      ->capture_default_str();
}

void run_order_report(const std::string& collection_path, const std::vector<std::string>& orders, OrderOptions options,
                      const PagerankFiles& files, const OrderReportArguments& arguments, const CommonOptions& common) {
  const Resources resources = make_resources(common);
  const CollectionReader collection = CollectionReader::open(collection_path);
  const CollectionManifest& manifest = collection.manifest();
  Json json = {{"bench", "order"},
               {"environment", environment_json()},
               {"collection", collection_path},
               {"documents", manifest.documents},
               {"terms", manifest.terms},
               {"postings", manifest.postings},
               {"block_size", arguments.block_size},
               {"threads", resources.threads},
               {"orders", Json::array()}};
  if (!common.json) {
    print(environment_line());
    print(fmt::format("{} documents, {} postings, blocks of {}; bits a posting\n", manifest.documents,
                      manifest.postings, arguments.block_size));
    print_columns();
  }
  for (const std::string& name : orders.empty() ? names_of(all_orders()) : orders) {
    options.by = name;
    const OrderFigures figures = measure_order(collection, options, files, arguments.block_size, resources);
    json["orders"].push_back(figures_json(figures));
    if (!common.json) print_figures(figures);
  }
  if (common.json) print(json.dump(1) + "\n");
}

}  // namespace quern::tools
