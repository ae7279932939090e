#include <fmt/format.h>

#include "quern/api/internal/fusion_options.hpp"

#include "command.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct FuseArguments {
  CommonOptions common;
  std::vector<std::string> runs;
  std::string output;
  api::FusionOptions options;
};

void run(const FuseArguments& arguments) {
  api::fusion_options(arguments.options, arguments.runs);  // wrong ones are refused before the output is opened
  const Resources resources = make_resources(arguments.common, arguments.output);
  TextOutput out(arguments.output, arguments.common.force);
  const api::FusionReport report = api::fuse(
      arguments.runs, arguments.options, [&](std::string_view text) { out.write(text); },
      make_work(arguments.common, resources));
  out.finish();
  for (std::size_t i = 0; i < arguments.runs.size(); ++i)
    if (const std::uint64_t missing = report.queries - report.queries_of_runs[i]; missing > 0)
      say(arguments.common, "quern: {}: has no results for {} of {}, which other runs have", arguments.runs[i], missing,
          count_text(report.queries, "query", "queries"));
  say(arguments.common, "quern: {} of {} in {}", report.results, count_text(report.results_read, "result"),
      count_text(report.queries, "query", "queries"));
}

}  // namespace

void add_fuse_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<FuseArguments>(program, "fuse", "Combine runs of the same queries by ranks or scores", run);
  add_input_option(command, "RUN", arguments.runs, "",
                   "Two or more TREC runs, with rrf also of MS MARCO; plain or compressed; - is standard input")
      ->required();
  add_name_option(command, "--method", arguments.options.method, fusion_methods,
                  with_choices("How results are combined:", fusion_methods));
  add_number_option(command, "--weights", arguments.options.weights, "X",
                    "Weight of each run, in their order (default: 1 each)", 0.0, 1e9);
  add_name_option(command, "--normalize", arguments.options.normalization, score_normalizations,
                  with_choices("How combsum and combmnz take the scores of a query in a run (default: min-max):",
                               score_normalizations));
  add_number_option(command, "--rrf-k", arguments.options.rank_constant, "N", "What rrf adds to ranks (default: 60)",
                    0.0, 1e9);
  add_number_option(command, "-k", arguments.options.k, "N", "Results per query", 1, std::uint64_t{1} << 32);
  add_option(command, "--tag", arguments.options.tag, "TAG", "Name of the new run")->capture_default_str();
  add_output_option(command, "-o,--output", arguments.output, "FILE", "Write to a file instead of standard output");
  command.add_flag("--force", arguments.common.force, "Overwrite existing output");
  add_work_options(command, arguments.common);
  set_notes(command,
            {"Ranks are those of quern eval: by decreasing score, ties by decreasing docno, whatever the file says. "
             "Queries that only some runs have are combined from these. formats/queries/fusion.md has the formulas."},
            {{"quern fuse bm25.run splade.run -o fused.run"},
             {"quern fuse bm25.run dense.run --method combsum --weights 0.3,0.7 -o fused.run",
              "Interpolation of scores from 0 to 1"},
             {"quern fuse *.run --method combmnz -k 100 | quern eval - my.qrels"}});
}

}  // namespace quern::tools
