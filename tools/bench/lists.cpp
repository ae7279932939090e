#include <fmt/format.h>

#include "quern/index/index_assembly.hpp"
#include "quern/lab/list_profile.hpp"

#include "bench/bench.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchListsArguments {
  CommonOptions common;
  std::string index, queries;
  QueryLayout layout;
};

ParsedQueries queries_of(const BenchListsArguments& arguments, const AnalyzerOptions& analyzer, unsigned threads) {
  if (arguments.queries.empty()) return {};
  const std::vector<Query> queries = read_query_file(arguments.queries, arguments.layout, arguments.common);
  std::vector<std::string_view> texts;
  for (const Query& query : queries) texts.push_back(query.text);
  return QueryReader(analyzer, query_kind(arguments.layout.format)).read(texts, threads);
}

Row class_row(const ListClassProfile& lists, const Json& label) {
  Row row = {{"least_df", lists.min_df},
             {"", label, "df from"},
             {"lists", lists.lists, "lists"},
             {"postings", lists.postings, "postings"},
             {"gap_entropy_bits", lists.gap_entropy_bits, "entropy", "{:.2f}"},
             {"random_bits", lists.random_bits, "random", "{:.2f}"},
             {"freq_shares", lists.freq_shares}};
  constexpr const char* freqs[freq_classes] = {"f=1 %", "2", "3-4", "5-8", ">8"};
  for (std::size_t i = 0; i < freq_classes; ++i) row.push_back({"", lists.freq_shares[i], freqs[i], "{:.1f}", 100});
  row.push_back({"mean_freq", lists.mean_freq, "mean f", "{:.2f}"});
  return row;
}

/// Adds them to the next table, and returns them as JSON.
Json add_percentiles(const char* what, const Percentiles& values, BenchReport& report) {
  const Row row = {{"", what, "percentiles"},
                   {"p10", values.p10, "10", "{:.3f}"},
                   {"p50", values.p50, "50", "{:.3f}"},
                   {"p90", values.p90, "90", "{:.3f}"},
                   {"p99", values.p99, "99", "{:.3f}"}};
  report.add("", row);
  return to_json(row);
}

void report_profile(const ListProfile& profile, BenchReport& report) {
  Json& json = report.json;
  for (const ListClassProfile& lists : profile.classes) {
    const Row row = class_row(lists, lists.min_df);
    json["by_df"].push_back(to_json(row));
    if (lists.lists > 0) report.add("", row);
  }
  const Row all = class_row(profile.all, "all");
  json["all"] = to_json(all);
  report.add("", all);
  report.print_table();
  report.say("\n");
  json["lengths_over_mean"] = add_percentiles("lengths over their mean", profile.lengths, report);
  json["blocks_compared"] = profile.blocks_compared;
  json["block_max_over_list_max"] = add_percentiles("block maxima over their list's", profile.block_maxima, report);
  json["pairs"] = profile.pairs;
  json["postings_per_query"] = profile.postings_per_query;
  if (profile.pairs > 0) {
    json["pairs_over_independence"] =
        add_percentiles("co-occurrence of query terms over independence", profile.pairs_ratio, report);
    json["pairs_over_independence"]["mean"] = profile.pairs_mean_ratio;
  }
  report.print_table();
  if (profile.pairs > 0)
    report.say("{}: on average {:.2f} times the co-occurrence of independent terms; {:.0f} postings per query\n",
               count_text(profile.pairs, "pair"), profile.pairs_mean_ratio, profile.postings_per_query);
}

void run(const BenchListsArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const ParsedQueries queries = queries_of(arguments, index.manifest().analyzer, resources.threads);
  BenchReport report("lists", arguments.common);
  report.json.update(index_json(index));
  report_profile(profile_lists(index, queries.views(), resources), report);
  report.finish();
}

}  // namespace

void add_lists_bench(CLI::App& bench) {
  auto [command, arguments] = add_bench<BenchListsArguments>(
      bench, "lists", "Describe an index's posting lists: gaps, frequencies, maxima, co-occurrence", run);
  add_index_argument(command, arguments.index);
  add_input_option(command, "-q,--queries", arguments.queries, "FILE",
                   "Queries, to measure how often their terms co-occur");
  add_query_layout_options(command, arguments.layout, "Format of the queries", QueryKinds::text_and_vectors);
  set_notes(command, {"scripts/compare-synth uses it to compare the lists of quern synth with real ones."},
            {{"quern bench lists my.quern"},
             {"quern bench lists my.quern -q topics.txt --json"},
             {"quern bench lists weights.quern -q queries.jsonl --queries-format vector"}});
}

}  // namespace quern::tools
