#include <fmt/format.h>

#include <memory>

#include "quern/core/error.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/lab/codec_bench.hpp"

#include "bench/bench.hpp"

namespace quern::tools {
namespace {

struct BenchCodecArguments {
  CommonOptions common;
  std::string index;
  bool synthetic = false;
  std::vector<std::string> codecs, groupings = {"classes"};
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

/// What Quern's and third-party codecs have in common.
Json coding_json(const CodecBench& bench, const CodedBits& bits, double encode_seconds) {
  const auto postings = static_cast<double>(bench.postings);
  return {{"docid_bytes", bits.docid_bits / 8},
          {"freq_bytes", bits.freq_bits / 8},
          {"docid_bits_per_posting", static_cast<double>(bits.docid_bits) / postings},
          {"freq_bits_per_posting", static_cast<double>(bits.freq_bits) / postings},
          {"docid_bytes_per_posting", static_cast<double>(bits.docid_bits) / 8 / postings},
          {"encoded_postings_per_second", postings / encode_seconds}};
}

Json decoding_json(const CodecBench& bench, const DecodingTimes& times) {
  const auto postings = static_cast<double>(bench.postings);
  return {{"docids_per_second", postings / times.docid_seconds},
          {"docids_share_of_memcpy", bench.memcpy_seconds / times.docid_seconds},
          {"docid_output_bytes_per_second", 4 * postings / times.docid_seconds},
          {"freqs_per_second", postings / times.freq_seconds},
          {"freqs_share_of_memcpy", bench.memcpy_seconds / times.freq_seconds}};
}

Json figures_json(const CodecBench& bench, const CodecFigures& figures) {
  Json json = {{"codec", figures.set_up.codec->name()},
               {"block_size", figures.set_up.options.block_size},
               {"recursion", figures.set_up.options.recursion}};
  json.update(coding_json(bench, figures.bits, figures.encode_seconds));
  for (const auto& [level, times] : figures.decoding)
    json["decoding"][std::string(name_of(level))] = decoding_json(bench, times);
  return json;
}

/// Block size 0 means whole lists.
Json figures_json(const CodecBench& bench, const PeerFigures& figures) {
  Json json = {{"codec", figures.set_up.codec->name()}, {"block_size", figures.set_up.block_size}};
  json.update(coding_json(bench, figures.bits, figures.encode_seconds));
  json["decoding"]["own"] = decoding_json(bench, figures.decoding);
  return json;
}

Json group_json(const LengthGroup& group, const CodecBench& bench) {
  Json json = {{"least_length", group.from},
               {"greatest_length", group.to == 0 ? Json() : Json(group.to - 1)},
               {"lists", bench.lists},
               {"postings", bench.postings},
               {"memcpy_per_second", static_cast<double>(bench.postings) / bench.memcpy_seconds}};
  for (const CodecFigures& figures : bench.figures) json["codecs"].push_back(figures_json(bench, figures));
  json["peers"] = Json::array();
  for (const PeerFigures& figures : bench.peers) json["peers"].push_back(figures_json(bench, figures));
  return json;
}

void print_codec(const Json& codec) {
  const auto block_size = codec["block_size"].get<unsigned>();
  print(fmt::format("{:<18}{:>6}{:>4}{:>9.2f}{:>8.2f}{:>9.3f}", codec["codec"].get<std::string>(),
                    block_size == 0 ? "list" : std::to_string(block_size),
                    codec.contains("recursion") ? codec["recursion"].dump() : "",
                    codec["docid_bits_per_posting"].get<double>(), codec["freq_bits_per_posting"].get<double>(),
                    billions(codec["encoded_postings_per_second"])));
  for (const auto& [level, rates] : codec["decoding"].items())
    print(fmt::format("  {} {:.2f} ({:.0f} %) {:.2f} ({:.0f} %)", level, billions(rates["docids_per_second"]),
                      100 * rates["docids_share_of_memcpy"].get<double>(), billions(rates["freqs_per_second"]),
                      100 * rates["freqs_share_of_memcpy"].get<double>()));
  print("\n");
}

std::string length_range(const Json& group) {
  const std::string from = group["least_length"].dump();
  return group["greatest_length"].is_null() ? from + " postings or more"
                                            : from + " to " + group["greatest_length"].dump() + " postings";
}

void print_group(const Json& group) {
  print(fmt::format("\n{} lists of {}, {} postings; memcpy {:.2f} billion per second\n",
                    group["lists"].get<std::size_t>(), length_range(group), group["postings"].get<std::size_t>(),
                    billions(group["memcpy_per_second"])));
  print(
      fmt::format("{:<18}{:>6}{:>4}{:>9}{:>8}{:>9}  decoded docIDs and frequencies, billions per second (of memcpy)\n",
                  "codec", "block", "rec", "bits/doc", "/freq", "encoded"));
  for (const Json& codec : group["codecs"]) print_codec(codec);
  for (const Json& peer : group["peers"]) print_codec(peer);
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

void run_codec(BenchCodecArguments arguments) {
  const Resources resources = make_resources(arguments.common);
  if (arguments.codecs.empty()) arguments.codecs = names_of(all_codecs());
  const std::vector<CodecSetUp> chosen = set_ups(arguments);
  const std::vector<PeerSetUp> peers = peers_of(arguments);
  Json json = {{"bench", "codec"},
               {"environment", environment_json()},
               {"lists", arguments.synthetic ? "synthetic" : arguments.index},
               {"repeats", arguments.repeats}};
  if (!arguments.common.json) print(environment_line());
  const std::vector<LengthGroup> groups = groups_of(arguments);
  resources.progress->start("measure codecs", postings_in(groups), "postings");
  for (const LengthGroup& group : groups) {
    if (group.lists.size() == 0) continue;
    const Json figures = group_json(group, measure_codecs(group.lists, chosen, peers, arguments.repeats));
    if (!arguments.common.json) print_group(figures);
    json["groups"].push_back(figures);
    resources.progress->add(group.lists.size());
  }
  resources.progress->finish();
  if (!json.contains("groups"))
    throw InvalidArgument(fmt::format("{}: no list has from {} to {} postings; raise --postings", arguments.index,
                                      groups.front().from, arguments.postings));
  if (arguments.common.json) print(json.dump(1) + "\n");
}

}  // namespace

void add_codec_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchCodecArguments>();
  CLI::App* command = bench.add_subcommand("codec", "Measure the speed and compression of codecs");
  CLI::Option* index = command->add_option("INDEX", arguments->index, "The index whose lists to encode and decode");
  index->type_name("");
  command->add_flag("--synthetic", arguments->synthetic, "Use synthetic lists of clustered documents instead")
      ->excludes(index);
  add_name_option(*command, "--codec", arguments->codecs, all_codecs(), "Codecs (default: all)")->delimiter(',');
  command->add_option("--block-size", arguments->block_sizes, "Postings per block (default: 128,256)")
      ->type_name("N")
      ->check(block_size_validator())
      ->delimiter(',');
  add_number_option(*command, "--recursion", arguments->recursions, "N",
                    "For rpfd: how many times exceptions are themselves compressed, from 0 to 4 (default: 1)", 0u, 4u);
  command->add_option("--lengths", arguments->groupings, "How lists are grouped by length (default: classes)")
      ->type_name("NAME")
      ->check(name_validator(length_groupings()))
      ->delimiter(',');
  command->add_flag("--no-peers", arguments->without_peers, "Skip third-party codecs");
  add_number_option(*command, "--postings", arguments->postings, "N",
                    "Most postings to measure for each group of lengths", 1, 1'000'000'000);
  add_number_option(*command, "--mean-gap", arguments->mean_gap, "X", "Mean gap between docIDs in synthetic lists", 0.0,
                    1e6);
  add_number_option(*command, "--seed", arguments->seed, "N", "Seed of synthetic lists");
  add_repeats_option(*command, arguments->repeats, "Repetitions; the median time counts");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command, {},
            {{"quern bench codec my.quern --block-size 128,256"},
             {"quern bench codec my.quern --lengths all,doubling --recursion 0,1,2,3,4 --json > codec.json"},
             {"quern bench codec --synthetic --codec rpfd --recursion 0,1,2,3,4 --json"}});
  command->callback([arguments] {
    if (arguments->index.empty() && !arguments->synthetic) throw CLI::RequiredError("INDEX or --synthetic");
    run_codec(*arguments);
  });
}

}  // namespace quern::tools
