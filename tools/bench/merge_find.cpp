#include <fmt/format.h>

#include <memory>

#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/gpu/decode_bench.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"

namespace quern::tools {
namespace {

struct BenchMergeFindArguments {
  CommonOptions common;
  std::vector<std::uint32_t> lengths = {5000, 50000, 500000, 4000000, 16000000};
  std::vector<std::uint32_t> longer = {1};
  gpu::MergeFindBenchOptions bench;
};

Json figures_json(const gpu::MergeFindFigures& figures) {
  Json json = {{"elements", figures.elements}, {"in", figures.in}};
  for (const double us : figures.us) {
    json["us"].push_back(us);
    json["ns_an_element"].push_back(1000 * us / figures.elements);
  }
  return json;
}

void print_levels(const Json& json) {
  print(environment_line());
  print("ns per element, by levels of splitters:\n");
  print(fmt::format("{:>12}{:>12}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "elements", "in", 0, 1, 2, 3, 4));
  for (const Json& row : json["lists"]) {
    print(fmt::format("{:>12}{:>12}", row["elements"].get<std::uint64_t>(), row["in"].get<std::uint64_t>()));
    for (const Json& ns : row["ns_an_element"]) print(fmt::format("{:>9.3f}", ns.get<double>()));
    print("\n");
  }
}

void run(const BenchMergeFindArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  Json json = {{"bench", "merge-find"}, {"environment", environment_json()}};
  require_gpu(arguments.bench.gpu);
  std::vector<gpu::MergeFindFigures> lengths;
  for (const std::uint32_t length : arguments.lengths)
    for (const std::uint32_t times : arguments.longer) lengths.push_back({length, length * times, {}});
  for (const auto& figures : gpu::measure_merge_find(lengths, arguments.bench, *resources.progress))
    json["lists"].push_back(figures_json(figures));
  for (const GpuInfo& gpu : list_gpus()) json["gpus"].push_back(gpu.name);
  if (arguments.common.json) return print(json.dump(1) + "\n");
  print_levels(json);
}

}  // namespace

void add_merge_find_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchMergeFindArguments>();
  CLI::App* command = bench.add_subcommand(
      "merge-find", "Measure how fast a GPU looks up docIDs in a decoded list, by levels of splitters");
  add_number_option(*command, "--lengths", arguments->lengths, "N", "Numbers of docIDs to look up; rows for each", 1u,
                    1u << 27);
  add_number_option(*command, "--longer", arguments->longer, "N",
                    "How many times longer the other list is; a row for each", 1u, 1000u);
  add_number_option(*command, "--seed", arguments->bench.seed, "N", "Seed of the lists");
  add_gpu_option(*command, arguments->bench.gpu);
  add_repeats_option(*command, arguments->bench.repeats, "Passes; the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command, {"The docIDs found are compared with the CPU's before anything is measured."},
            {{"quern bench merge-find"}, {"quern bench merge-find --lengths 200000 --longer 1,4,16,64 --json"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
