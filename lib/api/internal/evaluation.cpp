#include "quern/api/evaluation.hpp"

#include <fmt/format.h>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/evaluation_options.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/eval/run_comparison.hpp"
#include "quern/eval/run_evaluator.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/io/byte_source.hpp"

namespace quern::api {

void append_trec_run(std::string& out, const Index& index, std::string_view qid, std::span<const std::uint32_t> docids,
                     std::span<const float> scores, std::string_view tag) {
  with_api_errors([&] {
    if (docids.size() != scores.size()) throw InvalidArgument("documents and scores differ in number");
    std::vector<RunResult> results;
    results.reserve(docids.size());
    for (std::size_t i = 0; i < docids.size(); ++i) {
      const IndexShards::Place place = index.impl()->place(docids[i]);
      RunResult& result = results.emplace_back();
      result.docno = place.index.docno(place.docid);
      result.score = scores[i];
    }
    run_format_named("trec").append(out, qid, {}, results, tag);
  });
}

namespace {

/// Whether queries without results count: always, if all their exact results are missing.
bool counts_all(const EvaluationOptions& options) { return options.complete || options.exact; }

std::vector<MeasureChoice> choose_measures(const EvaluationOptions& options) {
  std::vector<MeasureChoice> measures = options.exact ? default_exact_measures() : default_measures();
  try {
    if (!options.measures.empty()) measures = measures_named(options.measures);
    check_measures(measures, options.exact);
  } catch (const InvalidArgument& wrong) {
    throw WrongUsage("{}: {}", option_name<"measures">, wrong.what());
  }
  if (!options.compare) return measures;
  const std::size_t asked = measures.size();
  measures = comparable_measures(std::move(measures));
  if (!options.measures.empty() && measures.size() < asked)
    throw WrongUsage("{}: {} compares means over queries, which num_... and gm_map are not", option_name<"measures">,
                     option_name<"compare">);
  return measures;
}

const std::vector<MeasureChoice>& recall_points() {
  static const std::vector<MeasureChoice> points = measures_named("iprec_at_recall");
  return points;
}

/// The curve of each run. The last measures are its points.
std::vector<std::vector<double>> curves_of(const quern::Evaluation& found, const EvaluationOptions& options) {
  const auto has_results = [&](std::size_t run, std::size_t query) {
    return std::all_of(found.runs.begin(), found.runs.end(), [&](const quern::RunValues& other) {
      return other.has_results[query] || (!options.compare && &other != &found.runs[run]);
    });
  };
  const std::size_t points = recall_points().size(), first = found.measures.size() - points;
  std::vector<std::vector<double>> curves(found.runs.size(), std::vector<double>(points));
  for (std::size_t run = 0; run < found.runs.size(); ++run) {
    double queries = 0;
    for (std::size_t query = 0; query < found.qids.size(); ++query) {
      if (!counts_all(options) && !has_results(run, query)) continue;
      ++queries;
      for (std::size_t i = 0; i < points; ++i) curves[run][i] += found.value(run, query, first + i);
    }
    for (double& point : curves[run]) point /= std::max(queries, 1.0);
  }
  return curves;
}

void drop_curves(quern::Evaluation& found) {
  const std::size_t all = found.measures.size(), kept = all - recall_points().size();
  for (quern::RunValues& run : found.runs) {
    for (std::size_t query = 0; query < found.qids.size(); ++query)
      std::copy_n(run.values.data() + query * all, kept, run.values.data() + query * kept);
    run.values.resize(found.qids.size() * kept);
  }
  found.measures.resize(kept);
}

RunValues values_of(const quern::Evaluation& found, std::size_t number, bool complete) {
  const quern::RunValues& run = found.runs[number];
  RunValues out{run.name, run.tag, {}, run.has_results, run.values, found.num_evaluated(number), run.unjudged_queries,
                {}};
  for (std::size_t measure = 0; measure < found.measures.size(); ++measure)
    out.values.push_back(found.summary(number, measure, complete));
  return out;
}

/// What the results of a run are compared with.
std::string_view name_of_truth(const EvaluationOptions& options) {
  return options.exact ? "exact results" : "judgements";
}

void remark_on_judgements(const quern::RunValues& run, const EvaluationOptions& options, WorkProgress& progress) {
  if (run.judged_results == 0)
    progress.remark(run.name + (options.exact
                                    ? ": no result is among the exact ones, which may be of other documents"
                                    : ": no result has a judgement; the judgements may be of other documents"));
}

void remark_on_open_ties(const quern::Evaluation& found, WorkProgress& progress) {
  if (found.open_ties > 0)
    progress.remark(
        fmt::format("for {}, results that the exact run doesn't have may tie with the last of those that count, "
                    "but count as wrong; with more results it shows all ties",
                    count_text(found.open_ties, "query", "queries")));
}

/// Queries that a mean leaves out.
void remark_on_left_out(const RunValues& run, std::uint64_t judged, const EvaluationOptions& options,
                        WorkProgress& progress) {
  if (run.unjudged > 0)
    progress.remark(fmt::format("{}: skipped {} without {}", run.name, count_text(run.unjudged, "query", "queries"),
                                name_of_truth(options)));
  if (run.evaluated < judged && !counts_all(options))
    progress.remark(fmt::format("{}: skipped {} with judgements but without results; {} counts them as 0", run.name,
                                count_text(judged - run.evaluated, "query", "queries"), option_name<"complete">));
}

RunDifference difference_of(const quern::RunDifference& run) {
  RunDifference out{run.mean, run.difference, run.wins, run.ties, run.losses, {}, {}, run.holm_t_p};
  if (run.t_test) {
    out.t = run.t_test->t;
    out.t_p = run.t_test->p;
    out.degrees_of_freedom = run.t_test->degrees;
  }
  out.randomization_p = run.randomization.p;
  out.holm_randomization_p = run.holm_randomization_p;
  out.is_exact = run.randomization.is_exact;
  out.tried = run.randomization.tried;
  return out;
}

void compare(const quern::Evaluation& found, const EvaluationOptions& options, Evaluation& out) {
  const RunComparison comparison = compare_runs(found, {counts_all(options), {options.samples, options.seed}});
  out.compared_queries = comparison.queries;
  for (const quern::MeasureComparison& measure : comparison.measures) {
    MeasureComparison& compared = out.comparisons.emplace_back();
    compared.measure = measure.measure.name();
    compared.first_mean = measure.first_mean;
    for (const quern::RunDifference& run : measure.others) compared.others.push_back(difference_of(run));
  }
}

}  // namespace

quern::EvaluationOptions reading_options(const EvaluationOptions& options) {
  quern::EvaluationOptions reading;
  reading.relevance_level = options.relevance_level;
  if (options.depth) reading.depth = *options.depth;
  if (options.trec_eval != 9 && options.trec_eval != 10)
    throw WrongUsage("{}: must be 9 or 10, the version of trec_eval", option_name<"as">);
  reading.version = static_cast<TrecEval>(options.trec_eval);
  check_evaluation_options(reading);
  return reading;
}

Evaluation evaluate(const std::vector<TrecRun>& runs, const std::string& qrels_path, const EvaluationOptions& options,
                    const Work& work) {
  return with_api_errors([&] {
    WorkResources resources(work, {});
    quern::EvaluationOptions reading = reading_options(options);
    reading.measures = choose_measures(options);
    reading.exact = options.exact;
    if (options.curve) reading.measures.insert(reading.measures.end(), recall_points().begin(), recall_points().end());
    RunEvaluator evaluator(*ByteSource::open(qrels_path, resources), reading, resources);
    for (const TrecRun& run : runs)
      evaluator.add_run(*(run.path.empty() ? ByteSource::from_memory("the run", std::string(run.text))
                                           : ByteSource::open(run.path, resources)));
    quern::Evaluation found = evaluator.finish();
    std::vector<std::vector<double>> curves(found.runs.size());
    if (options.curve) {
      curves = curves_of(found, options);
      drop_curves(found);
    }
    Evaluation out;
    out.qids = found.qids;
    for (const MeasureChoice& choice : found.measures)
      out.measures.push_back(
          {choice.name(), choice.measure->is_by_query, choice.measure->summary == MeasureSummary::sum});
    for (std::size_t run = 0; run < found.runs.size(); ++run) {
      out.runs.push_back(values_of(found, run, counts_all(options)));
      out.runs.back().curve = std::move(curves[run]);
      remark_on_left_out(out.runs.back(), found.qids.size(), options, resources.progress());
      remark_on_judgements(found.runs[run], options, resources.progress());
    }
    remark_on_open_ties(found, resources.progress());
    if (options.compare) compare(found, options, out);
    return out;
  });
}

}  // namespace quern::api
