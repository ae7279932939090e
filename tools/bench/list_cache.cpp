#include <fmt/format.h>

#include <memory>

#include "quern/formats/posting_reader.hpp"
#include "quern/lab/gpu/list_cache_bench.hpp"

#include "bench/bench.hpp"
#include "cache_options.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchListCacheArguments {
  CommonOptions common;
  QuerySource queries;
  std::string index;
  std::vector<std::string> memories = {"5%", "10%", "20%", "40%"};
  std::vector<std::uint64_t> batches = {1, 16, 256};
};

Json case_json(const std::string& memory, const ListCacheCase& of, const ListCacheFigures& figures) {
  return {{"gpu_memory", memory},
          {"batch", of.batch},
          {"cache", name_of_value(gpu::list_retentions, of.retention)},
          {"queries", figures.queries},
          {"batches", figures.batches},
          {"left_out", figures.left_out},
          {"needed_bytes", figures.counts.bytes},
          {"copied_bytes", figures.counts.copied_bytes},
          {"evicted", figures.counts.evicted_lists}};
}

void print_case(const Json& row) {
  const double needed = row["needed_bytes"].get<double>(), copied = row["copied_bytes"].get<double>();
  print(fmt::format("{:>10}{:>9}{:>8}{:>12.1f}{:>12.1f}{:>11.1f} %{:>10}\n", row["gpu_memory"].get<std::string>(),
                    row["batch"].get<std::uint64_t>(), row["cache"].get<std::string>(), needed / 1e6, copied / 1e6,
                    needed > 0 ? 100 * (1 - copied / needed) : 0, row["left_out"].get<std::uint64_t>()));
}

void run(const BenchListCacheArguments& arguments) {
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const QueryEngine engine(index, scoring_options(ScoringArguments(), index, arguments.queries));
  const ParsedQueries read = engine.reader(query_kind(arguments.queries.format)).read(texts_of(queries), 1);
  Json json = {{"bench", "list-cache"}, {"environment", environment_json()}, {"index", index_json(index)}};
  if (!arguments.common.json)
    print(fmt::format("{:>10}{:>9}{:>8}{:>12}{:>12}{:>13}{:>10}\n", "memory", "batch", "cache", "needed MB",
                      "copied MB", "found there", "too long"));
  for (const std::uint64_t batch : arguments.batches)
    for (const std::string& memory : arguments.memories)
      for (const auto& retention : gpu::list_retentions) {
        ListCacheCase of;
        of.arenas.words = parse_budget(memory, coded_list_bytes(index, false)) / sizeof(std::uint32_t);
        of.batch = batch;
        of.retention = retention.value;
        json["results"].push_back(case_json(memory, of, replay_queries(engine, read.views(), of)));
        if (!arguments.common.json) print_case(json["results"].back());
      }
  if (arguments.common.json) print(json.dump(1) + "\n");
}

}  // namespace

void add_list_cache_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchListCacheArguments>();
  CLI::App* command = bench.add_subcommand(
      "list-cache",
      "Measure how much a GPU with less memory than the index copies for a log, by caching policy; needs no GPU");
  add_index_argument(*command, arguments->index);
  add_query_source_options(*command, arguments->queries, QueryKinds::text_and_vectors);
  command
      ->add_option("--gpu-memory", arguments->memories,
                   "Memory for lists: sizes, or shares of all coded lists; a row for each")
      ->type_name("SIZE|P%")
      ->check(budget_validator())
      ->delimiter(',')
      ->capture_default_str();
  add_number_option(*command, "--batch", arguments->batches, "N", "Maximum queries per batch; a row for each", 1,
                    std::uint64_t{1} << 32);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"Queries with a term that is not in the index are skipped. A batch has fewer queries if their lists would "
             "need more than half of the memory, as in the engine for strategies without windows of documents. Too "
             "long: single queries whose lists do not fit."},
            {{"quern bench list-cache my.quern -q log.txt --gpu-memory 10%,30% --batch 256"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
