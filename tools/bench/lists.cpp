#include <fmt/format.h>

#include <memory>

#include "quern/index/index_assembly.hpp"
#include "quern/lab/list_profile.hpp"

#include "bench/bench.hpp"
#include "command.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchListsArguments {
  CommonOptions common;
  std::string index, queries;
  QueryFormat format = QueryFormat::automatic;
};

std::vector<std::string> query_texts(const BenchListsArguments& arguments) {
  std::vector<std::string> texts;
  if (arguments.queries.empty()) return texts;
  for (Query& query : read_query_file(arguments.queries, arguments.format, arguments.common))
    texts.push_back(std::move(query.text));
  return texts;
}

Json percentiles_json(const Percentiles& values) {
  return {{"p10", values.p10}, {"p50", values.p50}, {"p90", values.p90}, {"p99", values.p99}};
}

Json class_json(const ListClassProfile& lists) {
  return {{"least_df", lists.min_df},         {"lists", lists.lists},
          {"postings", lists.postings},       {"gap_entropy_bits", lists.gap_entropy_bits},
          {"random_bits", lists.random_bits}, {"freq_shares", lists.freq_shares},
          {"mean_freq", lists.mean_freq}};
}

Json profile_json(const IndexReader& index, const ListProfile& profile) {
  const IndexFigures figures = index_figures(index);
  Json json = {{"documents", index.manifest().documents},
               {"postings", index.manifest().postings},
               {"codec", index.manifest().codec},
               {"docid_bits_per_posting", figures.docid_bits_per_posting},
               {"freq_bits_per_posting", figures.freq_bits_per_posting},
               {"lengths_over_mean", percentiles_json(profile.lengths)},
               {"blocks_compared", profile.blocks_compared},
               {"block_max_over_list_max", percentiles_json(profile.block_maxima)},
               {"pairs", profile.pairs}};
  if (profile.pairs > 0) {
    json["pairs_over_independence"] = percentiles_json(profile.pairs_ratio);
    json["pairs_over_independence"]["mean"] = profile.pairs_mean_ratio;
  }
  json["all"] = class_json(profile.all);
  for (const ListClassProfile& lists : profile.classes) json["by_df"].push_back(class_json(lists));
  return json;
}

void print_class(const std::string& name, const ListClassProfile& lists) {
  print(fmt::format("{:<10}{:>9}{:>13}{:>9.2f}{:>8.2f}", name, lists.lists, lists.postings, lists.gap_entropy_bits,
                    lists.random_bits));
  for (const double share : lists.freq_shares) print(fmt::format("{:>7.1f}", 100 * share));
  print(fmt::format("{:>8.2f}\n", lists.mean_freq));
}

void print_percentiles(const std::string& what, const Percentiles& values) {
  print(fmt::format("{:<52}{:>8.3f}{:>8.3f}{:>8.3f}{:>9.3f}\n", what, values.p10, values.p50, values.p90, values.p99));
}

void print_profile(const ListProfile& profile) {
  print("df from       lists     postings  entropy  random  f=1 %    2    3-4    5-8     >8  mean f\n");
  for (const ListClassProfile& lists : profile.classes)
    if (lists.lists > 0) print_class(std::to_string(lists.min_df), lists);
  print_class("all", profile.all);
  print(fmt::format("\n{:<52}{:>8}{:>8}{:>8}{:>9}\n", "percentiles", 10, 50, 90, 99));
  print_percentiles("lengths over their mean", profile.lengths);
  print_percentiles("block maxima over their list's", profile.block_maxima);
  if (profile.pairs == 0) return;
  print_percentiles("pairs of a query's terms over independence", profile.pairs_ratio);
  print(fmt::format("{}, on average {:.2f} times independence\n", count_text(profile.pairs, "pair"),
                    profile.pairs_mean_ratio));
}

void run(const BenchListsArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const std::vector<std::string> texts = query_texts(arguments);
  const IndexReader index = IndexReader::open(arguments.index);
  const ListProfile profile = profile_lists(index, texts, resources);
  if (arguments.common.json) return print(profile_json(index, profile).dump(1) + "\n");
  print_profile(profile);
}

}  // namespace

void add_lists_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchListsArguments>();
  CLI::App* command =
      bench.add_subcommand("lists", "Describe an index's posting lists: gaps, frequencies, maxima, co-occurrence");
  add_index_argument(*command, arguments->index);
  command->add_option("-q,--queries", arguments->queries, "Queries, to measure how often their terms co-occur")
      ->type_name("FILE");
  add_query_format_option(*command, arguments->format, "Format of the queries");
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command, {"scripts/compare-synth uses it to compare the lists of quern synth with real ones."},
            {{"quern bench lists my.quern"}, {"quern bench lists my.quern -q topics.txt --json"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
