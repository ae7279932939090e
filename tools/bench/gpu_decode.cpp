#include <fmt/format.h>

#include <memory>

#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/bench_lists.hpp"
#include "quern/lab/gpu/decode_bench.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"

namespace quern::tools {
namespace {

struct BenchGpuDecodeArguments {
  CommonOptions common;
  std::string index, lengths;
  std::uint64_t min_postings = 100000;
  gpu::DecodeBenchOptions bench;
};

std::vector<gpu::ListLengths> groups_of(const BenchGpuDecodeArguments& arguments) {
  if (arguments.lengths.empty()) return {{arguments.min_postings, 0}};
  std::vector<gpu::ListLengths> groups;
  for (const LengthGroup& group : length_groups(arguments.lengths)) groups.push_back({group.from, group.to});
  return groups;
}

Json figures_json(const gpu::DecodeFigures& figures) {
  const auto postings = static_cast<double>(figures.postings);
  // What must be moved: the coded lists once in, 4 bytes a docID out.
  const double min_bytes = static_cast<double>(figures.coded_bytes) + 4 * postings;
  return {{"least_length", figures.lengths.from},
          {"greatest_length", figures.lengths.to == 0 ? Json() : Json(figures.lengths.to - 1)},
          {"lists", figures.lists},
          {"postings", figures.postings},
          {"coded_bytes", figures.coded_bytes},
          {"docids_per_second", 1e6 * postings / figures.docids_us},
          {"distances_per_second", 1e6 * postings / figures.distances_us},
          {"postings_per_second", 1e6 * postings / figures.both_us},
          {"single_lists", figures.single_lists},
          {"single_docids_per_second", 1e6 * static_cast<double>(figures.single_postings) / figures.single_us},
          {"copy_bytes_per_second", figures.copy_bytes_per_s},
          {"share_of_copy", min_bytes / figures.copy_bytes_per_s / (1e-6 * figures.docids_us)}};
}

void print_table(const Json& groups, const IndexReader& index) {
  print(environment_line());
  print(fmt::format("{} in blocks of {}; billions per second\n", index.manifest().codec, index.block_size()));
  print(fmt::format("{:>12}{:>10}{:>14}{:>10}{:>14}{:>18}{:>16}{:>16}\n", "postings of", "lists", "postings", "docIDs",
                    "without sums", "with frequencies", "share of copy", "one by one"));
  for (const Json& group : groups)
    print(fmt::format("{:>10} +{:>10}{:>14}{:>10.2f}{:>14.2f}{:>18.2f}{:>14.1f} %{:>16.3f}\n",
                      group["least_length"].get<std::uint64_t>(), group["lists"].get<std::uint64_t>(),
                      group["postings"].get<std::uint64_t>(), billions(group["docids_per_second"].get<double>()),
                      billions(group["distances_per_second"].get<double>()),
                      billions(group["postings_per_second"].get<double>()), 100 * group["share_of_copy"].get<double>(),
                      billions(group["single_docids_per_second"].get<double>())));
}

void run(BenchGpuDecodeArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  require_gpu(arguments.bench.gpu);
  const IndexReader index = IndexReader::open(arguments.index);
  arguments.bench.groups = groups_of(arguments);
  Json json = {{"bench", "gpu-decode"}, {"environment", environment_json()}, {"index", index_json(index)}};
  const auto all_figures = gpu::measure_decoding(index, arguments.bench, *resources.progress);
  json["gpu"] = list_gpus().at(arguments.bench.gpu).name;
  for (const gpu::DecodeFigures& figures : all_figures) json["groups"].push_back(figures_json(figures));
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_table(json["groups"], index);
}

}  // namespace

void add_gpu_decode_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchGpuDecodeArguments>();
  CLI::App* command =
      bench.add_subcommand("gpu-decode", "Measure how fast a GPU decodes posting lists into its memory");
  add_index_argument(*command, arguments->index);
  CLI::Option* least =
      add_number_option(*command, "--least-postings", arguments->min_postings, "N", "Shortest list to decode");
  command->add_option("--lengths", arguments->lengths, "Decode lists of similar length together, group by group")
      ->type_name("NAME")
      ->check(name_validator(length_groupings()))
      ->excludes(least);
  add_number_option(*command, "--most-postings", arguments->bench.max_postings, "N",
                    "Maximum postings per group; further lists are skipped");
  add_gpu_option(*command, arguments->bench.gpu);
  add_repeats_option(*command, arguments->bench.repeats, "Passes; the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"The output is compared with the CPU's before anything is measured. All lists of a group are decoded "
             "together, and some of them one at a time, with a launch each. Lists of a single block are skipped."},
            {{"quern bench gpu-decode my.quern"}, {"quern bench gpu-decode my.quern --lengths doubling --json"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
