#include <fmt/format.h>

#include <array>
#include <memory>

#include "quern/core/error.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/measure/codec_bench.hpp"
#include "quern/query/posting_cursor.hpp"

#include "command.hpp"

namespace quern::tools {
namespace {

struct Arguments {
  CommonOptions common;
  std::string index;
  bool synthetic = false;
  std::vector<std::string> codecs;
  std::vector<unsigned> block_sizes = {128, 256}, recursions = {1};
  std::uint64_t postings = 4'000'000, seed = 1;
  double mean_gap = 40;
  unsigned repeats = 11;
};

/// Lists of like length: of at least `from` postings, and fewer than the next group's.
struct Group {
  std::uint64_t from;
  BenchLists lists;
};

constexpr std::array<std::uint64_t, 4> group_starts = {17, 100, 1'000, 10'000};

std::vector<Group> groups_of(const IndexReader& index, std::uint64_t max_postings) {
  std::vector<Group> groups;
  for (const std::uint64_t from : group_starts) groups.push_back({from, {}});
  const auto add = [&](std::string_view, const PostingList& list) {
    if (list.df < group_starts.front()) return;
    std::size_t group = group_starts.size() - 1;
    while (list.df < group_starts[group]) --group;
    if (groups[group].lists.size() + list.df > max_postings) return;
    std::vector<docid_t> docids;
    std::vector<freq_t> freqs;
    for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next()) {
      docids.push_back(cursor.docid());
      freqs.push_back(cursor.freq());
    }
    groups[group].lists.add(docids, freqs);
  };
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) index.for_each_list(block, add);
  return groups;
}

std::vector<Group> synthetic_groups(const Arguments& arguments) {
  std::vector<Group> groups;
  for (const std::uint64_t from : group_starts)
    groups.push_back({from, clustered_lists(arguments.postings, 2 * from, arguments.mean_gap, arguments.seed)});
  return groups;
}

std::vector<CodecSetUp> set_ups(const Arguments& arguments) {
  std::vector<CodecSetUp> set_ups;
  for (const std::string& name : arguments.codecs)
    for (const unsigned block_size : arguments.block_sizes)
      for (const unsigned recursion : name == "rpfd" ? arguments.recursions : std::vector<unsigned>{1}) {
        set_ups.push_back({&codec_named(name), {block_size, recursion}});
        check_codec_options(set_ups.back().options);
      }
  return set_ups;
}

Json figures_json(const CodecBench& bench, const CodecFigures& figures) {
  const auto postings = static_cast<double>(bench.postings);
  Json json = {{"codec", figures.set_up.codec->name()},
               {"block_size", figures.set_up.options.block_size},
               {"recursion", figures.set_up.options.recursion},
               {"docid_bytes", figures.bits.docid_bits / 8},
               {"freq_bytes", figures.bits.freq_bits / 8},
               {"docid_bits_per_posting", static_cast<double>(figures.bits.docid_bits) / postings},
               {"freq_bits_per_posting", static_cast<double>(figures.bits.freq_bits) / postings},
               {"encoded_postings_per_second", postings / figures.encode_seconds}};
  for (const DecodingTimes& times : figures.decoding)
    json["decoding"][std::string(name_of(times.level))] = {
        {"docids_per_second", postings / times.docid_seconds},
        {"docids_share_of_memcpy", bench.memcpy_seconds / times.docid_seconds},
        {"docid_output_bytes_per_second", 4 * postings / times.docid_seconds},
        {"freqs_per_second", postings / times.freq_seconds},
        {"freqs_share_of_memcpy", bench.memcpy_seconds / times.freq_seconds}};
  return json;
}

Json group_json(const Group& group, const CodecBench& bench) {
  Json json = {{"least_length", group.from},
               {"lists", bench.lists},
               {"postings", bench.postings},
               {"memcpy_per_second", static_cast<double>(bench.postings) / bench.memcpy_seconds}};
  for (const CodecFigures& figures : bench.figures) json["codecs"].push_back(figures_json(bench, figures));
  return json;
}

double billions(const Json& rate) { return rate.get<double>() / 1e9; }

void print_codec(const Json& codec) {
  print(fmt::format("{:<8}{:>6}{:>4}{:>9.2f}{:>8.2f}{:>9.3f}", codec["codec"].get<std::string>(),
                    codec["block_size"].get<unsigned>(), codec["recursion"].get<unsigned>(),
                    codec["docid_bits_per_posting"].get<double>(), codec["freq_bits_per_posting"].get<double>(),
                    billions(codec["encoded_postings_per_second"])));
  for (const auto& [level, rates] : codec["decoding"].items())
    print(fmt::format("  {} {:.2f} ({:.0f} %) {:.2f} ({:.0f} %)", level, billions(rates["docids_per_second"]),
                      100 * rates["docids_share_of_memcpy"].get<double>(), billions(rates["freqs_per_second"]),
                      100 * rates["freqs_share_of_memcpy"].get<double>()));
  print("\n");
}

void print_group(const Json& group) {
  print(fmt::format("\n{} lists of {} postings and more, {} postings; memcpy {:.2f} billion a second\n",
                    group["lists"].get<std::size_t>(), group["least_length"].get<std::uint64_t>(),
                    group["postings"].get<std::size_t>(), billions(group["memcpy_per_second"])));
  print(fmt::format("{:<8}{:>6}{:>4}{:>9}{:>8}{:>9}  decoded docIDs and frequencies, billions a second (of memcpy)\n",
                    "codec", "block", "rec", "bits/doc", "/freq", "encoded"));
  for (const Json& codec : group["codecs"]) print_codec(codec);
}

void run_codec(Arguments arguments) {
  make_resources(arguments.common);
  if (arguments.codecs.empty()) arguments.codecs = names_of(all_codecs());
  const std::vector<CodecSetUp> chosen = set_ups(arguments);
  const std::vector<Group> groups = arguments.index.empty()
                                        ? synthetic_groups(arguments)
                                        : groups_of(IndexReader::open(arguments.index), arguments.postings);
  Json json = {{"lists", arguments.index.empty() ? "synthetic" : arguments.index}, {"repeats", arguments.repeats}};
  for (const Group& group : groups) {
    if (group.lists.size() == 0) continue;
    const Json figures = group_json(group, measure_codecs(group.lists, chosen, arguments.repeats));
    if (!arguments.common.json) print_group(figures);
    json["groups"].push_back(figures);
  }
  if (!json.contains("groups"))
    throw InvalidArgument(fmt::format("{}: no list of {} postings and more, and of at most --postings {}",
                                      arguments.index, group_starts.front(), arguments.postings));
  if (arguments.common.json) print(json.dump(1) + "\n");
}

void add_codec_bench(CLI::App& bench) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = bench.add_subcommand("codec", "How fast codecs encode and decode, and how small they get");
  CLI::Option* index = command->add_option("INDEX", arguments->index, "Measure on the lists of this index");
  index->type_name("");
  command->add_flag("--synthetic", arguments->synthetic, "Measure on made-up lists of clustered documents")
      ->excludes(index);
  command->add_option("--codec", arguments->codecs, "Codecs; all unless given")
      ->check(name_validator(names_of(all_codecs())))
      ->delimiter(',');
  command->add_option("--block-size", arguments->block_sizes, "Postings a block")->delimiter(',');
  command->add_option("--recursion", arguments->recursions, "Of rpfd, 0 to 4")->delimiter(',');
  command->add_option("--postings", arguments->postings, "At most so many postings for each length of lists")
      ->check(range_validator<std::uint64_t>(1, 1'000'000'000));
  command->add_option("--mean-gap", arguments->mean_gap, "Of made-up lists")->check(range_validator(0.0, 1e6));
  command->add_option("--seed", arguments->seed, "Of made-up lists");
  command->add_option("--repeats", arguments->repeats, "Medians of so many")->check(range_validator(1u, 1000u));
  command->add_flag("--json", arguments->common.json, "Print JSON");
  add_common_options(*command, arguments->common);
  command->footer(
      "\nExamples:\n  quern bench codec my.quern --block-size 128,256\n"
      "  quern bench codec --synthetic --codec rpfd --recursion 0,1,2,3,4 --json");
  command->callback([arguments] {
    if (arguments->index.empty() && !arguments->synthetic) throw CLI::RequiredError("INDEX or --synthetic");
    run_codec(*arguments);
  });
}

}  // namespace

void add_bench_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("bench", "Measures this machine");
  command->require_subcommand(1);
  add_codec_bench(*command);
}

}  // namespace quern::tools
