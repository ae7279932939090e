#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "quern/core/error.hpp"
#include "quern/eval/run_comparison.hpp"
#include "quern/eval/run_evaluator.hpp"

#include "work_folder.hpp"

namespace {

/// All measures of judgements or of exact runs, with one cut for each that has cuts.
std::vector<quern::MeasureChoice> every_measure(bool exact) {
  std::vector<quern::MeasureChoice> choices;
  for (const quern::Measure& measure : quern::all_measures())
    if (measure.of_exact_runs == exact) choices.push_back(quern::measures_named(measure.name).front());
  return choices;
}

/// Whether values are at most 1.
bool is_share(const quern::Measure& measure) {
  return measure.summary != quern::MeasureSummary::sum && measure.name != "utility" && measure.name != "dcg" &&
         measure.name != "ideal_dcg";
}

void check_evaluation(const quern::Evaluation& evaluation) {
  for (std::size_t run = 0; run < evaluation.runs.size(); ++run) {
    for (std::size_t measure = 0; measure < evaluation.measures.size(); ++measure) {
      const quern::Measure& known = *evaluation.measures[measure].measure;
      const double least = known.name == "utility" ? -std::numeric_limits<double>::max() : 0;
      for (const bool complete : {false, true}) {
        const double value = evaluation.summary(run, measure, complete);
        if (!std::isfinite(value) || value < least) std::abort();
        if (is_share(known) && value > 1 + 1e-9) std::abort();
      }
    }
  }
}

}  // namespace

/// Empty lines separate judgements or an exact run, a run and a second run. Any bytes give finite, possible values or a
/// library error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size < 1 || size > 1 << 16) return 0;
  const std::size_t first = bytes.find("\n\n"), second = bytes.find("\n\n", first == bytes.npos ? first : first + 2);
  if (second == bytes.npos) return 0;
  const std::string_view parts[] = {bytes.substr(0, first + 1), bytes.substr(first + 2, second - first - 1),
                                    bytes.substr(second + 2)};
  quern::EvaluationOptions options;
  options.exact = (data[0] & 8) != 0;
  options.measures = every_measure(options.exact);
  options.relevance_level = 1 + data[0] % 3;
  options.depth = 1 + data[size - 1];
  const bool compared = data[0] % 2 == 0;
  if (compared) options.measures = quern::comparable_measures(options.measures);
  quern::Resources resources = quern::fuzz::fuzz_resources();
  const auto source = [](std::string_view part) { return quern::ByteSource::from_memory("fuzz", std::string(part)); };
  try {
    quern::RunEvaluator evaluator(*source(parts[0]), options, resources);
    evaluator.add_run(*source(parts[1]));
    evaluator.add_run(*source(parts[2]));
    const quern::Evaluation evaluation = evaluator.finish();
    check_evaluation(evaluation);
    if (!compared) return 0;
    quern::ComparisonOptions comparison;
    comparison.complete = data[0] % 4 == 0;
    comparison.randomization.samples = 100;
    for (const quern::MeasureComparison& measure : quern::compare_runs(evaluation, comparison).measures) {
      const quern::RunDifference& run = measure.others.front();
      const double p = run.t_test ? run.t_test->p : 1;
      if (!(p >= 0 && p <= 1 + 1e-12 && run.randomization.p > 0 && run.randomization.p <= 1)) std::abort();
    }
  } catch (const quern::Error&) {
  }
  return 0;
}
