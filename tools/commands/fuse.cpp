#include <fmt/format.h>

#include "quern/eval/run_fusion.hpp"

#include "command.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct FuseArguments {
  CommonOptions common;
  std::vector<std::string> runs;
  std::string output;
  FusionOptions options;
  std::optional<double> rank_constant;
  std::optional<ScoreNormalization> normalization;
};

/// What doesn't apply is refused.
FusionOptions options_of(const FuseArguments& arguments) {
  FusionOptions options = arguments.options;
  const bool by_rank = options.method == FusionMethod::rrf;
  if (arguments.runs.size() < 2) throw usage_error("name two runs or more");
  if (std::count(arguments.runs.begin(), arguments.runs.end(), "-") > 1)
    throw usage_error("only one of the runs can be - (standard input)");
  if (by_rank && arguments.normalization) throw usage_error("--normalize needs --method combsum or combmnz");
  if (!by_rank && arguments.rank_constant) throw usage_error("--rrf-k needs --method rrf");
  options.normalization = arguments.normalization.value_or(options.normalization);
  options.rank_constant = arguments.rank_constant.value_or(options.rank_constant);
  const std::size_t weights = options.weights.size();
  if (weights > 0 && weights != arguments.runs.size())
    throw usage_error("--weights: there are {} for {}; give one to each run", count_text(weights, "weight"),
                      count_text(arguments.runs.size(), "run"));
  return options;
}

void run(const FuseArguments& arguments) {
  const FusionOptions options = options_of(arguments);
  const Resources resources = make_resources(arguments.common, arguments.output);
  TextOutput out(arguments.output, arguments.common.force);
  const FusionReport report =
      fuse_runs(arguments.runs, options, resources, [&](std::string_view text) { out.write(text); });
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
  add_value_option(command, "--method", arguments.options.method, fusion_methods,
                   with_choices("How results are combined:", fusion_methods));
  add_number_option(command, "--weights", arguments.options.weights, "X",
                    "Weight of each run, in their order (default: 1 each)", 0.0, 1e9)
      ->allow_extra_args(false);
  add_value_option(command, "--normalize", arguments.normalization, score_normalizations,
                   with_choices("How combsum and combmnz take the scores of a query in a run (default: min-max):",
                                score_normalizations));
  add_number_option(command, "--rrf-k", arguments.rank_constant, "N", "What rrf adds to ranks (default: 60)", 0.0, 1e9);
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
