#include "quern/api/tuning.hpp"

#include <fmt/format.h>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/evaluation_options.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/processors.hpp"
#include "quern/tune/tuner.hpp"

namespace quern::api {
namespace {

MeasureChoice one_measure(const std::string& name) {
  try {
    const std::vector<MeasureChoice> measures = measures_named(std::string_view(name));
    check_measures(measures, false);
    if (measures.size() == 1) return measures.front();
    throw InvalidArgument("{} is {} measures; name one, such as {}", name, measures.size(), measures.front().name());
  } catch (const InvalidArgument& wrong) {
    throw WrongUsage("{}: {}", option_name<"measure">, wrong.what());
  }
}

void check_options(const TuningOptions& options) {
  const bool names_alpha = !options.alpha.empty() || options.start_alpha;
  if (names_alpha && options.scorer != Scorer::bm25_pagerank)
    throw WrongUsage("{} needs {} bm25+pagerank", option_name<"alpha">, option_name<"scorer">);
  if (!options.by_coordinates && (options.start_k1 || options.start_b || options.start_alpha))
    throw WrongUsage("{} needs {}", option_name<"start">, option_name<"by-coordinates">);
}

ScoringOptions scoring_of(const TuningOptions& options, const IndexReader& index) {
  Scoring scoring;
  scoring.idf = options.idf;
  scoring.scorer = options.scorer;
  return scoring_options(scoring, index);
}

/// The caller's values, or the usual ones if there are none.
ParameterGrid given_values(const TuningOptions& options) {
  if (options.k1.empty() && options.b.empty() && options.alpha.empty())
    return {parameter_values("0.4:2.0:0.4"), parameter_values("0.1:0.9:0.2"), {}};
  return {options.k1, options.b, options.alpha};
}

/// Parameters without values have that of a point.
ParameterGrid completed(ParameterGrid grid, const ScoringPoint& fixed) {
  if (grid.k1.empty()) grid.k1 = {fixed.bm25.k1};
  if (grid.b.empty()) grid.b = {fixed.bm25.b};
  if (grid.alpha.empty()) grid.alpha = {fixed.alpha};
  return grid;
}

quern::TuningOptions tuning_options(const TuningOptions& options, const IndexReader& index) {
  check_options(options);
  const ScoringOptions own = scoring_of(options, index);
  quern::TuningOptions out;
  out.start = {{options.start_k1.value_or(own.bm25.k1), options.start_b.value_or(own.bm25.b)},
               options.start_alpha.value_or(own.alpha)};
  out.grid = completed(given_values(options), out.start);
  out.by_coordinates = options.by_coordinates;
  out.k = options.k;
  out.folds = options.folds;
  EvaluationOptions evaluation;
  evaluation.relevance_level = options.relevance_level;
  evaluation.depth = options.depth;
  evaluation.trec_eval = options.trec_eval;
  const quern::EvaluationOptions reading = reading_options(evaluation);
  out.measure = {one_measure(options.measure), reading.relevance_level, reading.depth, reading.version,
                 options.complete};
  return out;
}

TunedPoint point_of(const quern::TunedPoint& tuned) {
  return {tuned.point.bm25.k1, tuned.point.bm25.b, tuned.point.alpha, tuned.value};
}

Tuning report_of(const TuningReport& found, const quern::TuningOptions& options, const ParameterGrid& given) {
  Tuning out;
  out.measure = options.measure.measure.name();
  for (const auto& [name, values] : given.parameters())
    if (!values->empty()) out.tuned.emplace_back(name);
  for (const quern::TunedPoint& point : found.points) out.points.push_back(point_of(point));
  out.best = point_of(found.best);
  out.start = point_of(found.start);
  for (const quern::TunedFold& fold : found.folds)
    out.folds.push_back(
        {fold.queries, point_of({fold.point, fold.value}), fold.others, {fold.qids.begin(), fold.qids.end()}});
  if (options.folds > 0) out.cross_validated = found.cross_validated;
  out.queries = found.queries;
  return out;
}

void remark_on_left_out(const TuningReport& report, bool complete, WorkProgress& progress) {
  if (report.unjudged > 0)
    progress.remark(fmt::format("skipped {} without judgements", count_text(report.unjudged, "topic")));
  if (report.without_results > 0 && !complete)
    progress.remark(fmt::format("skipped {} with judgements but without results; {} counts them as 0",
                                count_text(report.without_results, "query", "queries"), option_name<"complete">));
  if (report.best.value == 0 && report.start.value == 0)
    progress.remark("every point has the value 0; the judgements may be of other documents");
}

}  // namespace

Tuning tune(const Index& index, std::span<const Topic> topics, const std::string& qrels_path,
            const TuningOptions& options, const Work& work) {
  return with_api_errors([&] {
    WorkResources resources(work, {});
    const IndexShards& shards = index.impl()->shards;
    const quern::TuningOptions tuning = tuning_options(options, shards[0]);
    SearchProcessors processors(shards, {}, {}, resources->threads);
    Resources left = *resources;
    processors.divide_memory({options.k, scoring_of(options, shards[0]).scorer, QueryDevice::cpu}, nullptr, left);
    processors.open_engines([&](const IndexReader& shard) { return scoring_of(options, shard); });
    const QueryReader reader = processors.engines().front()->reader();
    const ParsedQueries parsed = reader.read(topics.size(), resources->threads, [&](std::size_t i, Analyzer& analyzer) {
      return read_query(reader, topics[i].query, analyzer);
    });
    std::vector<TuningTopic> read;
    for (std::size_t i = 0; i < topics.size(); ++i) read.push_back({topics[i].qid, parsed.views()[i]});
    const TuningReport report =
        quern::tune(processors.engines(), shards, read, *ByteSource::open(qrels_path, resources), tuning, resources,
                    [&] { processors.pages().note_query(); });
    remark_on_left_out(report, options.complete, resources.progress());
    return report_of(report, tuning, given_values(options));
  });
}

}  // namespace quern::api
