#include <fmt/format.h>

#include "quern/formats/index_file.hpp"
#include "quern/lab/codec_bench.hpp"

#include "bench/bench.hpp"

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
  for (const MissingPeer& missing : missing_peers())
    say(arguments.common,
        fmt::format("quern: skipped {}: not compiled in; install {} and rebuild", missing.name, missing.package));
  for (const PeerCodec* peer : all_peers())
    for (const unsigned block_size : {128u, 0u}) peers.push_back({peer, block_size});
  return peers;
}

std::uint64_t postings_in(const std::vector<LengthGroup>& groups) {
  std::uint64_t postings = 0;
  for (const LengthGroup& group : groups) postings += group.lists.size();
  return postings;
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
  resources.progress->start("measure codecs", postings_in(groups), "postings");
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
  CLI::Option* index = command.add_option("INDEX", arguments.index, "The index whose lists to encode and decode");
  index->type_name("");
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
  add_number_option(command, "--seed", arguments.seed, "N", "Seed of synthetic lists");
  add_repeats_option(command, arguments.repeats, "Repetitions; the median time counts");
  set_notes(command, {},
            {{"quern bench codec my.quern --block-size 128,256"},
             {"quern bench codec my.quern --lengths all,doubling --recursion 0,1,2,3,4 --json > codec.json"},
             {"quern bench codec --synthetic --codec rpfd --recursion 0,1,2,3,4 --json"}});
}

}  // namespace quern::tools
