#include <fmt/format.h>

#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/lab/codec_bench.hpp"
#include "quern/lab/gpu/decode_bench.hpp"
#include "quern/lab/list_profile.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"

namespace quern::tools {
namespace {

struct BenchCodecArguments {
  CommonOptions common;
  std::string index;
  bool synthetic = false;
  std::vector<std::string> codecs = names_of(all_codecs()), groupings = {"classes"};
  bool without_peers = false;
  std::vector<unsigned> block_sizes = {128, 256}, recursions = {1};
  std::uint64_t postings = 4'000'000, seed = 1;
  double mean_gap = 40;
  unsigned repeats = 11;
};

std::vector<LengthGroup> groups_of(const BenchCodecArguments& arguments) {
  std::vector<LengthGroup> groups;
  for (const std::string& name : arguments.groupings)
    for (LengthGroup& group : length_groups(name)) groups.push_back(std::move(group));
  if (!arguments.synthetic) {
    fill_groups(IndexReader::open(arguments.index), arguments.postings, groups);
    return groups;
  }
  for (LengthGroup& group : groups) {
    const std::uint64_t length = group.to == 0 ? 2 * group.from : (group.from + group.to) / 2;
    if (length <= arguments.postings)
      group.lists = clustered_lists(arguments.postings, length, arguments.mean_gap, arguments.seed);
  }
  return groups;
}

std::vector<CodecSetUp> set_ups(const BenchCodecArguments& arguments) {
  std::vector<CodecSetUp> set_ups;
  for (const std::string& name : arguments.codecs)
    for (const unsigned block_size : arguments.block_sizes)
      for (const unsigned recursion : name == "rpfd" ? arguments.recursions : std::vector<unsigned>{1}) {
        set_ups.push_back({&codec_named(name), {block_size, recursion}});
        check_codec_options(set_ups.back().options);
      }
  return set_ups;
}

Row row_of(const CodecBench& bench, const CodecFigures& figures) {
  const auto postings = static_cast<double>(bench.postings);
  const auto docid_bits = static_cast<double>(figures.bits.docid_bits);
  const auto freq_bits = static_cast<double>(figures.bits.freq_bits);
  Row row = {{"codec", figures.codec, "codec"},
             {"block_size", figures.block_size},
             {"", figures.block_size == 0 ? Json("list") : Json(figures.block_size), "block"},
             {"", figures.recursion ? Json(*figures.recursion) : Json(""), "rec"},
             {"docid_bytes", figures.bits.docid_bits / 8},
             {"freq_bytes", figures.bits.freq_bits / 8},
             {"docid_bits_per_posting", docid_bits / postings, "bits/doc", "{:.2f}"},
             {"freq_bits_per_posting", freq_bits / postings, "/freq", "{:.2f}"},
             {"docid_bytes_per_posting", docid_bits / 8 / postings},
             {"encoded_postings_per_second", postings / figures.encode_seconds, "encoded", "{:.3f}", 1e-9}};
  if (figures.recursion) row.push_back({"recursion", *figures.recursion});
  Json decoding;
  for (const DecodingTimes& times : figures.decoding) {
    const double docids = postings / times.docid_seconds, docids_share = bench.memcpy_seconds / times.docid_seconds;
    const double freqs = postings / times.freq_seconds, freqs_share = bench.memcpy_seconds / times.freq_seconds;
    decoding[std::string(times.level)] = {{"docids_per_second", docids},
                                          {"docids_share_of_memcpy", docids_share},
                                          {"docid_output_bytes_per_second", 4 * docids},
                                          {"freqs_per_second", freqs},
                                          {"freqs_share_of_memcpy", freqs_share}};
    row.push_back({"",
                   fmt::format("{} {:.2f} ({:.0f} %) {:.2f} ({:.0f} %)", times.level, 1e-9 * docids, 100 * docids_share,
                               1e-9 * freqs, 100 * freqs_share),
                   "decoded"});
  }
  for (std::size_t i = figures.decoding.size(); i < simd_levels().size(); ++i) row.push_back({"", "", "decoded"});
  row.push_back({"decoding", std::move(decoding)});
  return row;
}

void report_group(const LengthGroup& group, const CodecBench& bench, BenchReport& report) {
  const double memcpy_rate = static_cast<double>(bench.postings) / bench.memcpy_seconds;
  Json json = {{"least_length", group.from},
               {"greatest_length", group.to == 0 ? Json() : Json(group.to - 1)},
               {"lists", bench.lists},
               {"postings", bench.postings},
               {"memcpy_per_second", memcpy_rate},
               {"peers", Json::array()}};
  report.say("\n{} lists of {}{} postings{}, {} postings; memcpy {:.2f} billion per second\n", bench.lists, group.from,
             group.to == 0 ? "" : fmt::format(" to {}", group.to - 1), group.to == 0 ? " or more" : "", bench.postings,
             1e-9 * memcpy_rate);
  report.say("Decoded: docIDs and frequencies, in billions per second (share of memcpy's rate)\n");
  const auto add = [&](const char* key, const CodecFigures& figures) {
    const Row row = row_of(bench, figures);
    json[key].push_back(to_json(row));
    report.add("", row);
  };
  for (const CodecFigures& figures : bench.figures) add("codecs", figures);
  for (const CodecFigures& figures : bench.peers) add("peers", figures);
  report.print_table();
  report.json["groups"].push_back(std::move(json));
}

/// Third-party codecs, by block and by list.
std::vector<PeerSetUp> peers_of(const BenchCodecArguments& arguments) {
  std::vector<PeerSetUp> peers;
  if (arguments.without_peers) return peers;
  if (all_peers().empty())
    say(arguments.common, "quern: skipped streamvbyte: not compiled in; install libstreamvbyte-dev and rebuild");
  for (const PeerCodec* peer : all_peers())
    for (const unsigned block_size : {128u, 0u}) peers.push_back({peer, block_size});
  return peers;
}

void run(const BenchCodecArguments& arguments) {
  if (arguments.index.empty() && !arguments.synthetic) throw CLI::RequiredError("INDEX or --synthetic");
  const Resources resources = make_resources(arguments.common);
  const std::vector<CodecSetUp> chosen = set_ups(arguments);
  const std::vector<PeerSetUp> peers = peers_of(arguments);
  BenchReport report("codec", arguments.common);
  report.json["lists"] = arguments.synthetic ? "synthetic" : arguments.index;
  report.json["repeats"] = arguments.repeats;
  const std::vector<LengthGroup> groups = groups_of(arguments);
  std::uint64_t postings = 0;
  for (const LengthGroup& group : groups) postings += group.lists.size();
  resources.progress->start("measure codecs", postings, "postings");
  for (const LengthGroup& group : groups) {
    if (group.lists.size() == 0) continue;
    report_group(group, measure_codecs(group.lists, chosen, peers, arguments.repeats), report);
    resources.progress->add(group.lists.size());
  }
  resources.progress->finish();
  if (!report.json.contains("groups"))
    throw InvalidArgument("{}: no list has from {} to {} postings; raise --postings", arguments.index,
                          groups.front().from, arguments.postings);
  report.finish();
}

}  // namespace

void add_codec_bench(CLI::App& bench) {
  auto [command, arguments] =
      add_bench<BenchCodecArguments>(bench, "codec", "Measure the speed and compression of codecs", run);
  CLI::Option* index =
      add_input_option(command, "INDEX", arguments.index, "", "The index whose lists to encode and decode");
  CLI::Option* synthetic =
      command.add_flag("--synthetic", arguments.synthetic, "Use synthetic lists of clustered documents instead")
          ->excludes(index);
  add_name_option(command, "--codec", arguments.codecs, all_codecs(), "Codecs (default: all)");
  add_option(command, "--block-size", arguments.block_sizes, "N", "Postings per block (default: 128,256)")
      ->check(block_size_validator())
      ->delimiter(',');
  add_number_option(command, "--recursion", arguments.recursions, "N",
                    "For rpfd: how many times exceptions are themselves compressed, from 0 to 4 (default: 1)", 0u, 4u);
  add_option(command, "--lengths", arguments.groupings, "NAME", "How lists are grouped by length (default: classes)")
      ->check(name_validator(length_groupings()))
      ->delimiter(',');
  command.add_flag("--no-peers", arguments.without_peers, "Skip third-party codecs");
  add_number_option(command, "--postings", arguments.postings, "N",
                    "Maximum postings to measure for each group of lengths", 1, 1'000'000'000);
  add_number_option(command, "--mean-gap", arguments.mean_gap, "X", "Mean gap between docIDs in synthetic lists", 0.0,
                    1e6);
  add_number_option(command, "--seed", arguments.seed, "N", "Seed of synthetic lists")->needs(synthetic);
  command.get_option("--mean-gap")->needs(synthetic);
  add_repeats_option(command, arguments.repeats, "Repetitions; the median time counts");
  set_notes(command, {},
            {{"quern bench codec my.quern --block-size 128,256"},
             {"quern bench codec my.quern --lengths all,doubling --recursion 0,1,2,3,4 --json > codec.json"},
             {"quern bench codec --synthetic --codec rpfd --recursion 0,1,2,3,4 --json"}});
}

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
  add_input_option(command, "INDEX", arguments.index, "", "The index whose lists to decode");
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
  exclude_others(command, "--lookups", {"--longer", "--gpu", "--repeats"});
  command.get_option("--longer")->needs("--lookups");
  set_notes(command,
            {"The output is compared with the CPU's before anything is measured. All lists of a group are decoded "
             "together, and some of them one at a time, with a launch each. Lists of a single block are skipped."},
            {{"quern bench gpu-decode my.quern"},
             {"quern bench gpu-decode my.quern --lengths doubling --json"},
             {"quern bench gpu-decode --lookups 5000,50000,500000,4000000,16000000"},
             {"quern bench gpu-decode --lookups 200000 --longer 1,4,16,64 --json"}});
}

}  // namespace quern::tools
