#include <fmt/format.h>

#include <memory>

#include "quern/gpu/decode_bench.hpp"
#include "quern/gpu/device_info.hpp"

#include "bench.hpp"

namespace quern::tools {
namespace {

struct Arguments {
  CommonOptions common;
  std::string index;
  gpu::DecodeBenchOptions bench;
};

void run(const Arguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  Json json = {{"bench", "gpu-decode"}, {"environment", environment_json()}, {"index", index_json(index)}};
  const gpu::DecodeFigures figures = gpu::measure_decoding(index, arguments.bench, *resources.progress);
  const auto postings = static_cast<double>(figures.postings);
  const double docids_per_s = 1e6 * postings / figures.docids_us, both_per_s = 1e6 * postings / figures.both_us;
  // What must be moved: the coded lists once in, 4 bytes a docID out.
  const double least_bytes = static_cast<double>(figures.coded_bytes) + 4 * postings;
  json.update({{"gpu", list_gpus().at(arguments.bench.gpu).name},
               {"lists", figures.lists},
               {"postings", figures.postings},
               {"coded_bytes", figures.coded_bytes},
               {"docids_per_second", docids_per_s},
               {"postings_per_second", both_per_s},
               {"copy_bytes_per_second", figures.copy_bytes_per_s},
               {"share_of_copy", least_bytes / figures.copy_bytes_per_s / (1e-6 * figures.docids_us)}});
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print(environment_line());
  print(
      fmt::format("{} lists, {} postings, {} in blocks of {}: {:.1f} billion docIDs a second, {:.1f} with "
                  "frequencies; the bytes to move take {:.1f} % of the time\n",
                  figures.lists, figures.postings, index.manifest().codec, index.block_size(), billions(docids_per_s),
                  billions(both_per_s), 100 * json["share_of_copy"].get<double>()));
}

}  // namespace

void add_gpu_decode_bench(CLI::App& bench) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = bench.add_subcommand("gpu-decode", "How fast a GPU decodes posting lists to its memory");
  command->add_option("INDEX", arguments->index, "An index")->type_name("")->required();
  command->add_option("--least-postings", arguments->bench.least_postings, "Of the lists that are decoded")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--most-postings", arguments->bench.most_postings, "In all; lists behind that are left out")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--gpu", arguments->bench.gpu, "Number of the GPU")->type_name("N")->capture_default_str();
  command->add_option("--repeats", arguments->bench.repeats, "Times are the median of so many passes")
      ->type_name("N")
      ->check(range_validator(1u, 1000u))
      ->capture_default_str();
  command->add_flag("--json", arguments->common.json, "Print JSON");
  add_common_options(*command, arguments->common);
  command->footer(
      "\nThe output is compared with the CPU's before anything is measured.\n"
      "\nExamples:\n  quern bench gpu-decode my.quern\n  quern bench gpu-decode my.quern --least-postings 1000 --json");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
