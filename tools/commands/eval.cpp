#include <fmt/format.h>

#include "quern/api/evaluation.hpp"
#include "quern/eval/measure.hpp"

#include "command.hpp"
#include "eval_report.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct EvalArguments {
  CommonOptions common;
  std::vector<std::string> files;
  api::EvaluationOptions options;
  bool per_query = false;
  std::string report;  ///< empty: none
  std::string exact;   ///< a run; empty: the last file has judgements

  /// The judgements or the exact run.
  const std::string& truth() const { return exact.empty() ? files.back() : exact; }
  std::span<const std::string> runs() const { return std::span(files).first(files.size() - exact.empty()); }
  bool has_default_measures() const { return options.measures.empty(); }
};

void check_files(const EvalArguments& arguments) {
  const std::size_t runs = arguments.runs().size();
  if (runs == 0) throw usage_error("a run and its judgements are needed: quern eval my.run my.qrels");
  if (arguments.options.compare && runs < 2)
    throw usage_error("--compare needs two runs or more, before any judgements");
  if (!arguments.options.compare && runs > 1 && !arguments.exact.empty())
    throw usage_error("more than one run; --exact takes the place of judgements; use --compare to compare runs");
  if (!arguments.options.compare && runs > 1)
    throw usage_error("more than one run before the judgements; use --compare to compare runs");
  if (std::count(arguments.files.begin(), arguments.files.end(), "-") + (arguments.exact == "-") > 1)
    throw usage_error("only one of the files can be - (standard input)");
}

/// A line as trec_eval prints it.
std::string measure_line(const api::Measure& measure, const std::string& query, double value) {
  if (measure.is_count) return fmt::format("{:<22}\t{}\t{:.0f}\n", measure.name, query, value);
  return fmt::format("{:<22}\t{}\t{:6.4f}\n", measure.name, query, value);
}

/// Calls visit(measure, value) for the values of a query.
template <class Visit>
void for_each_value(const api::Evaluation& evaluation, std::size_t query, Visit&& visit) {
  const std::size_t measures = evaluation.measures.size();
  for (std::size_t i = 0; i < measures; ++i)
    if (const api::Measure& measure = evaluation.measures[i]; measure.is_by_query)
      visit(measure, evaluation.runs.front().by_query[query * measures + i]);
}

/// Whether --per-query shows a query: trec_eval 10 prints all those that count.
bool is_printed(const api::RunValues& run, std::size_t query, const EvalArguments& arguments) {
  return run.has_results[query] || (arguments.options.complete && arguments.options.trec_eval > 9);
}

void print_values(const api::Evaluation& evaluation, const EvalArguments& arguments) {
  const api::RunValues& run = evaluation.runs.front();
  for (std::size_t query = 0; arguments.per_query && query < evaluation.qids.size(); ++query) {
    if (!is_printed(run, query, arguments)) continue;
    std::string text;
    for_each_value(evaluation, query, [&](const api::Measure& measure, double value) {
      text += measure_line(measure, evaluation.qids[query], value);
    });
    print(text);
  }
  std::string text;
  if (arguments.has_default_measures()) text = fmt::format("{:<22}\tall\t{}\n", "runid", run.tag);
  for (std::size_t i = 0; i < evaluation.measures.size(); ++i)
    text += measure_line(evaluation.measures[i], "all", run.values[i]);
  print(text);
}

Json value_json(const api::Measure& measure, double value) {
  if (measure.is_count) return static_cast<std::uint64_t>(value);
  return value;
}

/// Settings that both forms of output show.
Json settings_json(const EvalArguments& arguments) {
  Json json = {{arguments.exact.empty() ? "qrels" : "exact", arguments.truth()},
               {"depth", arguments.options.depth ? Json(*arguments.options.depth) : Json()},
               {"as", arguments.options.trec_eval}};
  if (arguments.exact.empty())
    json.update({{"relevance_level", arguments.options.relevance_level}, {"complete", arguments.options.complete}});
  return json;
}

Json query_json(const api::Evaluation& evaluation, std::size_t query) {
  Json json = {{"id", evaluation.qids[query]}, {"measures", Json::object()}};
  for_each_value(evaluation, query, [&](const api::Measure& measure, double value) {
    json["measures"][measure.name] = value_json(measure, value);
  });
  return json;
}

void print_values_json(const api::Evaluation& evaluation, const EvalArguments& arguments) {
  const api::RunValues& run = evaluation.runs.front();
  Json json = {{"run", arguments.files.front()}, {"tag", run.tag}};
  json.update(settings_json(arguments));
  json["queries"] = run.evaluated;
  json["queries_without_results"] = evaluation.qids.size() - run.evaluated;
  json["queries_without_judgements"] = run.unjudged;
  json["measures"] = Json::object();
  for (std::size_t i = 0; i < evaluation.measures.size(); ++i)
    json["measures"][evaluation.measures[i].name] = value_json(evaluation.measures[i], run.values[i]);
  if (arguments.per_query) {
    json["by_query"] = Json::array();
    for (std::size_t query = 0; query < evaluation.qids.size(); ++query)
      if (is_printed(run, query, arguments)) json["by_query"].push_back(query_json(evaluation, query));
  }
  print_json(json);
}

void print_comparison(const api::Evaluation& evaluation, const EvalArguments& arguments) {
  const std::size_t runs = arguments.runs().size();
  std::size_t columns = 3, names = 16;
  for (std::size_t run = 0; run < runs; ++run) columns = std::max(columns, arguments.files[run].size());
  for (const api::MeasureComparison& measure : evaluation.comparisons)
    names = std::max(names, measure.measure.size() + 2);
  const bool with_holm = runs > 2;
  std::string text = fmt::format("{:<{}}{:<{}}{:>8}{:>12}{:>8}{:>8}{:>8}{:>10}{:>10}{:>10}", "measure", names, "run",
                                 columns, "mean", "difference", "wins", "ties", "losses", "t", "p(t)", "p(random)");
  text += with_holm ? fmt::format("{:>10}{:>14}\n", "Holm(t)", "Holm(random)") : "\n";
  for (const api::MeasureComparison& measure : evaluation.comparisons) {
    text += fmt::format("{:<{}}{:<{}}{:>8.4f}\n", measure.measure, names, arguments.files.front(), columns,
                        measure.first_mean);
    for (std::size_t i = 0; i < measure.others.size(); ++i) {
      const api::RunDifference& run = measure.others[i];
      text += fmt::format("{:<{}}{:<{}}{:>8.4f}{:>+12.4f}{:>8}{:>8}{:>8}{:>10}{:>10}{:>10}", "", names,
                          arguments.files[i + 1], columns, run.mean, run.difference, run.wins, run.ties, run.losses,
                          run.t ? fmt::format("{:.3f}", *run.t) : "-", p_text(run.t_p), p_text(run.randomization_p));
      text += with_holm ? fmt::format("{:>10}{:>14}\n", p_text(run.holm_t_p), p_text(run.holm_randomization_p)) : "\n";
    }
  }
  print(text);
}

Json difference_json(const api::RunDifference& run, const std::string& file) {
  Json json = {{"run", file},      {"mean", run.mean}, {"difference", run.difference},
               {"wins", run.wins}, {"ties", run.ties}, {"losses", run.losses},
               {"t_test", nullptr}};
  if (run.t) {  // an infinite t is null in JSON
    json["t_test"] = {
        {"t", *run.t}, {"degrees_of_freedom", run.degrees_of_freedom}, {"p", *run.t_p}, {"holm_p", *run.holm_t_p}};
  }
  json["randomization_test"] = {
      {"p", run.randomization_p}, {"holm_p", run.holm_randomization_p}, {"exact", run.is_exact}, {"tried", run.tried}};
  return json;
}

void print_comparison_json(const api::Evaluation& evaluation, const EvalArguments& arguments) {
  Json json = {{"baseline", arguments.files.front()}};
  json.update(settings_json(arguments));
  json["seed"] = arguments.options.seed;
  json["queries"] = evaluation.compared_queries;
  json["queries_left_out"] = evaluation.qids.size() - evaluation.compared_queries;
  json["measures"] = Json::array();
  for (const api::MeasureComparison& measure : evaluation.comparisons) {
    Json row = {{"measure", measure.measure}, {"baseline_mean", measure.first_mean}, {"runs", Json::array()}};
    for (std::size_t i = 0; i < measure.others.size(); ++i)
      row["runs"].push_back(difference_json(measure.others[i], arguments.files[i + 1]));
    json["measures"].push_back(row);
  }
  print_json(json);
}

void run(const EvalArguments& arguments) {
  check_files(arguments);
  const std::span<const std::string> files = arguments.runs();
  std::vector<api::TrecRun> runs;
  for (const std::string& file : files) runs.push_back({file});
  const Resources resources = make_resources(arguments.common);
  std::optional<TextOutput> report;
  if (!arguments.report.empty()) report.emplace(arguments.report, arguments.common.force);
  api::EvaluationOptions options = arguments.options;
  options.curve = report.has_value();
  options.exact = !arguments.exact.empty();
  const api::Evaluation evaluation =
      api::evaluate(runs, arguments.truth(), options, make_work(arguments.common, resources));
  if (report) {
    report->write(html_report(evaluation, {files, arguments.truth(), options}));
    report->finish();
  }
  if (options.compare)
    arguments.common.json ? print_comparison_json(evaluation, arguments) : print_comparison(evaluation, arguments);
  else
    arguments.common.json ? print_values_json(evaluation, arguments) : print_values(evaluation, arguments);
}

void add_measure_options(CLI::App& command, EvalArguments& arguments) {
  add_option(command, "--measures", arguments.options.measures, "NAME",
             with_choices("Measures, separated by commas, in the order in which they are printed; MRR@10 is "
                          "recip_rank_cut.10, nDCG@10 ndcg_cut.10, AP@10 map_cut.10, P@5 P.5 and R@1000 recall.1000; "
                          "without .K, all of trec_eval's cuts:",
                          all_measures()))
      ->check(measure_validator())
      ->delimiter(',');
  add_judgement_options(command, arguments.options);
}

void add_comparison_options(CLI::App& command, EvalArguments& arguments) {
  CLI::Option* compare =
      command.add_flag("--compare", arguments.options.compare,
                       "Compare the first of several runs with each of the others, with significance tests");
  add_number_option(command, "--samples", arguments.options.samples, "N",
                    "Random sign choices in the randomization test, if there are too many to try all", 1,
                    std::uint64_t{1'000'000'000})
      ->needs(compare);
  add_number_option(command, "--seed", arguments.options.seed, "N", "Seed of these choices")->needs(compare);
  command.add_flag("--per-query", arguments.per_query, "Also print the values of each query")->excludes(compare);
}

}  // namespace

void add_eval_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<EvalArguments>(program, "eval", "Measure runs against relevance judgements, and compare runs", run);
  add_input_option(
      command, "FILE", arguments.files, "",
      "A run (two or more with --compare) of TREC or MS MARCO, followed by the judgements (qrels) unless --exact is "
      "given; plain or compressed; - is standard input")
      ->required()
      ->expected(1, CLI::detail::expected_max_vector_size);
  add_measure_options(command, arguments);
  add_comparison_options(command, arguments);
  command.add_flag("--json", arguments.common.json, "Print the values as JSON, in full precision");
  CLI::Option* html =
      add_output_option(command, "--html", arguments.report, "FILE",
                        "Also write a report for browsers: one page with tables and plots, of the runs and each query");
  add_input_option(
      command, "--exact", arguments.exact, "FILE",
      "Measure which of the best results of this run the others have, in place of judgements: exact_recall")
      ->excludes(html)
      ->excludes(command.get_option("--complete"))
      ->excludes(command.get_option("--relevance-level"));
  command.add_flag("--force", arguments.common.force, "Overwrite an existing report");
  add_work_options(command, arguments.common);
  set_notes(
      command,
      {"Prints the same as trec_eval 10, or with --as 9 as the versions before: a line for each measure with its name, "
       "the query's id or all, and the value. "
       "Results count in the order of their scores, ties in decreasing order of docnos, whatever their ranks in the "
       "file; documents without a judgement count as not relevant. formats/queries/measures.md has the formulas.",
       "--exact compares the results of approximate engines and of quantized weights with exact ones: exact_recall.K "
       "is "
       "the share of a query's K best exact results among a run's first K. Documents with the score of the K-th are as "
       "good as it, so the exact run needs more than K results, which have the tied ones.",
       "--compare prints, for each measure, the means, how many queries are better, the same and worse than in the "
       "first run, and p of a paired t-test and a paired randomization test, both two-sided; for several runs, also p "
       "after Holm's correction."},
      {{"quern eval my.run my.qrels"},
       {"quern eval my.run.gz my.qrels --measures map,P.10,ndcg_cut.20 --per-query"},
       {"quern query my.quern -q topics.txt -k 1000 | quern eval - my.qrels --complete"},
       {"quern eval approximate.run --exact exact.run --measures exact_recall.10 --per-query"},
       {"quern eval --compare bm25.run other.run my.qrels", "Whether other.run is better than bm25.run"},
       {"quern eval --compare bm25.run other.run my.qrels --measures nDCG@10,MRR@10 --html report.html",
        "The same with plots, and with the differences in nDCG@10 of each query"}});
}

}  // namespace quern::tools
