#include "quern/index/shards/merge_runs.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct MergeRunsArguments {
  CommonOptions common;
  std::vector<std::string> runs;
  std::string queries, output;
  QueryFormat format = QueryFormat::automatic;
  MergeRunsOptions options;
};

void run(const MergeRunsArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  MergeRunsOptions options = arguments.options;
  if (!arguments.queries.empty())
    for (const Query& query : read_query_file(arguments.queries, arguments.format, arguments.common))
      options.qids.push_back(query.id);
  TextOutput out(arguments.output, arguments.common.force);
  const MergeRunsReport report =
      merge_runs(arguments.runs, options, resources, [&](std::string_view text) { out.write(text); });
  out.finish();
  say(arguments.common, fmt::format("quern: {} of {} in {}", report.results, count_text(report.results_read, "result"),
                                    count_text(report.queries, "query", "queries")));
}

}  // namespace

void add_merge_runs_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<MergeRunsArguments>(program, "merge-runs", "Merge shards' runs of the same queries", run);
  add_option(command, "RUN", arguments.runs, "", "TREC runs of all shards, in the order of the shards")->required();
  add_number_option(command, "-k", arguments.options.k, "N",
                    "Results per query: the same -k that each shard was queried with", 1, std::uint64_t{1} << 32)
      ->required();
  add_option(command, "--tag", arguments.options.tag, "TAG", "Name of the run (default: that of the first run)");
  add_option(command, "-q,--queries", arguments.queries, "FILE",
             "The queries, in the order the run should have (default: the order in the runs)");
  add_query_format_option(command, arguments.format, "Format of the queries");
  mark_output(
      add_option(command, "-o,--output", arguments.output, "FILE", "Write to a file instead of standard output"));
  command.add_flag("--force", arguments.common.force, "Overwrite existing output");
  add_resource_options(command, arguments.common);
  add_common_options(command, arguments.common);
  set_notes(
      command,
      {"The result is byte for byte the run over the whole index if each shard was queried with the same -k. Equal "
       "scores are ordered by shard: name the runs in the order of the shards."},
      {{"quern merge-runs 1.run 2.run 3.run -k 1000 -o my.run"},
       {"quern merge-runs ?.run -q queries.txt -k 10 > my.run", "When some queries have results only in some shards"}});
}

}  // namespace quern::tools
