#include <fmt/format.h>

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
  std::vector<std::uint32_t> lookups, longer = {1};
  std::uint64_t min_postings = 100000;
  gpu::DecodeBenchOptions bench;
};

std::vector<gpu::ListLengths> groups_of(const BenchGpuDecodeArguments& arguments) {
  if (arguments.lengths.empty()) return {{arguments.min_postings, 0}};
  std::vector<gpu::ListLengths> groups;
  for (const LengthGroup& group : length_groups(arguments.lengths)) groups.push_back({group.from, group.to});
  return groups;
}

Row row_of(const gpu::DecodeFigures& figures) {
  const auto postings = static_cast<double>(figures.postings);
  // The least traffic: the coded lists once in, 4 bytes per docID out.
  const double min_bytes = static_cast<double>(figures.coded_bytes) + 4 * postings;
  const double single_postings = static_cast<double>(figures.single_postings);
  return {{"least_length", figures.lengths.from, "postings of"},
          {"greatest_length", figures.lengths.to == 0 ? Json() : Json(figures.lengths.to - 1), "to"},
          {"lists", figures.lists, "lists"},
          {"postings", figures.postings, "postings"},
          {"coded_bytes", figures.coded_bytes},
          {"docids_per_second", 1e6 * postings / figures.docids_us, "docIDs", "{:.2f}", 1e-9},
          {"distances_per_second", 1e6 * postings / figures.distances_us, "without sums", "{:.2f}", 1e-9},
          {"postings_per_second", 1e6 * postings / figures.both_us, "with frequencies", "{:.2f}", 1e-9},
          {"single_lists", figures.single_lists},
          {"copy_bytes_per_second", figures.copy_bytes_per_s},
          {"share_of_copy", min_bytes / figures.copy_bytes_per_s / (1e-6 * figures.docids_us), "share of copy",
           "{:.1f} %", 100},
          {"single_docids_per_second", 1e6 * single_postings / figures.single_us, "one by one", "{:.3f}", 1e-9}};
}

void measure_lists(const BenchGpuDecodeArguments& arguments, Progress& progress, BenchReport& report) {
  const IndexReader index = IndexReader::open(arguments.index);
  gpu::DecodeBenchOptions options = arguments.bench;
  options.groups = groups_of(arguments);
  report.json["index"] = index_json(index);
  const auto measured = gpu::measure_decoding(index, options, progress);
  report.say("{} in blocks of {}; billions per second\n", index.manifest().codec, index.block_size());
  for (const gpu::DecodeFigures& figures : measured) report.add("groups", row_of(figures));
}

/// Looks up elements of decoded lists in others: figure 6 of Ding et al.
void measure_lookups(const BenchGpuDecodeArguments& arguments, Progress& progress, BenchReport& report) {
  std::vector<gpu::MergeFindFigures> lengths;
  for (const std::uint32_t length : arguments.lookups)
    for (const std::uint32_t times : arguments.longer) lengths.push_back({length, length * times, {}});
  const auto measured = gpu::measure_merge_find(lengths, {arguments.bench.gpu, arguments.bench.repeats}, progress);
  report.say("ns per element, by levels of splitters\n");
  for (const gpu::MergeFindFigures& figures : measured) {
    Row row = {{"elements", figures.elements, "elements"}, {"in", figures.in, "in"}, {"us", figures.us}};
    for (std::size_t level = 0; level < figures.us.size(); ++level)
      row.push_back({"", figures.us[level] / figures.elements, std::to_string(level), "{:.3f}", 1e3});
    report.add("lookups", std::move(row));
  }
}

void run(const BenchGpuDecodeArguments& arguments) {
  if (arguments.index.empty() == arguments.lookups.empty()) throw CLI::RequiredError("INDEX or --lookups");
  const Resources resources = make_resources(arguments.common);
  require_gpu(arguments.bench.gpu);
  BenchReport report("gpu-decode", arguments.common);
  report.json["gpu"] = list_gpus().at(arguments.bench.gpu).name;
  (arguments.lookups.empty() ? measure_lists : measure_lookups)(arguments, *resources.progress, report);
  report.print_table();
  report.finish();
}

}  // namespace

void add_gpu_decode_bench(CLI::App& bench) {
  auto [command, arguments] = add_bench<BenchGpuDecodeArguments>(
      bench, "gpu-decode", "Measure how fast a GPU decodes posting lists into its memory, or looks docIDs up there",
      run);
  add_option(command, "INDEX", arguments.index, "", "The index whose lists to decode");
  CLI::Option* least = add_number_option(command, "--least-postings", arguments.min_postings, "N",
                                         "Minimum postings of a list to decode");
  add_option(command, "--lengths", arguments.lengths, "NAME", "Decode lists of similar length together, group by group")
      ->check(name_validator(length_groupings()))
      ->excludes(least);
  add_number_option(command, "--most-postings", arguments.bench.max_postings, "N",
                    "Maximum postings per group; further lists are skipped");
  add_number_option(command, "--lookups", arguments.lookups, "N",
                    "Instead of decoding an index, look this many docIDs up in a decoded list by 0 to 4 levels of "
                    "splitters (merge-find); a row for each number",
                    1u, 1u << 27);
  add_number_option(command, "--longer", arguments.longer, "N",
                    "With --lookups: how many times longer the searched list is; a row for each", 1u, 1000u);
  add_gpu_option(command, arguments.bench.gpu);
  add_repeats_option(command, arguments.bench.repeats, "Passes; the median time counts");
  set_notes(command,
            {"The output is compared with the CPU's before anything is measured. All lists of a group are decoded "
             "together, and some of them one at a time, with a launch each. Lists of a single block are skipped."},
            {{"quern bench gpu-decode my.quern"},
             {"quern bench gpu-decode my.quern --lengths doubling --json"},
             {"quern bench gpu-decode --lookups 5000,50000,500000,4000000,16000000"},
             {"quern bench gpu-decode --lookups 200000 --longer 1,4,16,64 --json"}});
}

}  // namespace quern::tools
