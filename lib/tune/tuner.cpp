#include "quern/tune/tuner.hpp"

#include <map>

#include "quern/core/parallel_batch.hpp"

namespace quern {
namespace {

/// A point's values over all queries, over each fold, and over all but each fold.
struct PointTotals {
  MeasureTotal all;
  std::vector<MeasureTotal> folds, others;
};

class Tuner {
 public:
  Tuner(const std::vector<const QueryEngine*>& engines, const IndexShards& index, const JudgedTopics& topics,
        const TuningOptions& options, const Resources& resources, const std::function<void()>& note_query)
      : engines_(engines),
        index_(index),
        topics_(topics.topics),
        options_(options),
        resources_(resources),
        note_query_(note_query) {
    const std::uint64_t bytes = sizeof(PointTotals) + 2 * options.folds * sizeof(MeasureTotal);
    max_points_ = resources.memory_bytes / 16 / bytes;
  }

  TuningReport run() {
    TuningReport report;
    resources_.progress->start("tune", options_.by_coordinates ? 0 : scorings_of_grid(), "queries");
    report.best.point = choose([](const PointTotals& totals) -> const MeasureTotal& { return totals.all; });
    measure({&options_.start, 1});
    for (std::size_t fold = 0; fold < options_.folds; ++fold) report.folds.push_back(validate(fold));
    resources_.progress->finish();
    report.best.value = value(totals_of(report.best.point).all);
    report.start = {options_.start, value(totals_of(options_.start).all)};
    for (const ScoringPoint& point : reported_points()) report.points.push_back({point, value(totals_of(point).all)});
    report.queries = topics_.size();
    MeasureTotal validated;
    for (std::size_t fold = 0; fold < options_.folds; ++fold)
      validated.add(totals_of(report.folds[fold].point).folds[fold]);
    report.cross_validated = value(validated);
    return report;
  }

 private:
  using Criterion = std::function<const MeasureTotal&(const PointTotals&)>;

  double value(const MeasureTotal& total) const { return total.summary(options_.measure.measure.measure->summary); }
  const PointTotals& totals_of(const ScoringPoint& point) const { return totals_.at(values_of(point)); }

  /// The queries that the grid and the start point take, in groups of points.
  std::uint64_t scorings_of_grid() const {
    std::vector<ScoringPoint> points = options_.grid.points();
    if (std::ranges::find(points, options_.start) == points.end()) points.push_back(options_.start);
    return (points.size() + PointSearch::max_points - 1) / PointSearch::max_points * topics_.size();
  }

  const std::vector<ScoringPoint>& reported_points() {
    if (!options_.by_coordinates) trials_ = options_.grid.points();
    return trials_;
  }

  TunedFold validate(std::size_t fold) {
    const ScoringPoint point =
        choose([fold](const PointTotals& totals) -> const MeasureTotal& { return totals.others[fold]; });
    const PointTotals& totals = totals_of(point);
    TunedFold out = {totals.folds[fold].queries(), point, value(totals.others[fold]), value(totals.folds[fold]), {}};
    for (std::size_t topic = fold; topic < topics_.size(); topic += options_.folds)
      if (!topics_[topic].qid.empty()) out.qids.push_back(topics_[topic].qid);
    return out;
  }

  /// The best point by the criterion.
  ScoringPoint choose(const Criterion& criterion) {
    if (options_.by_coordinates) return ascend(criterion);
    std::vector<ScoringPoint> points = {options_.start};
    const std::vector<ScoringPoint> grid = options_.grid.points();
    points.insert(points.end(), grid.begin(), grid.end());
    measure(points);
    return best_of(points, criterion);
  }

  /// Of equal points, the first.
  ScoringPoint best_of(std::span<const ScoringPoint> points, const Criterion& criterion) const {
    return *std::ranges::max_element(points, {},
                                     [&](const ScoringPoint& point) { return value(criterion(totals_of(point))); });
  }

  ScoringPoint ascend(const Criterion& criterion) {
    ScoringPoint at = options_.start;
    const auto parameters = options_.grid.parameters();
    for (std::size_t unchanged = 0, i = 0; unchanged < parameters.size(); i = (i + 1) % parameters.size()) {
      std::vector<ScoringPoint> line = {at};
      for (const double tried : *parameters[i].second) {
        auto values = values_of(at);
        values[i] = tried;
        line.push_back(point_of(values));
      }
      measure(line);
      const ScoringPoint best = best_of(line, criterion);
      unchanged = best == at ? unchanged + 1 : 0;
      at = best;
    }
    return at;
  }

  /// Measures those of the points that are not yet known.
  void measure(std::span<const ScoringPoint> points) {
    std::vector<ScoringPoint> unknown;
    for (const ScoringPoint& point : points) {
      if (totals_.contains(values_of(point))) continue;
      if (totals_.size() == max_points_)
        throw InvalidArgument("{} points with {} don't fit in the memory; raise {}, or lower {}", totals_.size() + 1,
                              count_text(options_.folds, "fold"), option_name<"memory">, option_name<"folds">);
      totals_[values_of(point)] = {
          {}, std::vector<MeasureTotal>(options_.folds), std::vector<MeasureTotal>(options_.folds)};
      unknown.push_back(point);
    }
    trials_.insert(trials_.end(), unknown.begin(), unknown.end());
    for (std::size_t first = 0; first < unknown.size(); first += PointSearch::max_points)
      measure_together(std::span(unknown).subspan(first, std::min(PointSearch::max_points, unknown.size() - first)));
  }

  void measure_together(std::span<const ScoringPoint> points) {
    const PointSearch search(engines_, points);
    std::vector<PointTotals*> totals;
    for (const ScoringPoint& point : points) totals.push_back(&totals_.at(values_of(point)));
    const auto make = [&](std::size_t i, std::vector<double>& values) {
      const JudgedTopic& topic = topics_[i];
      values = measure_topic(topic, search.search(topic.query, topic.docids, options_.k), index_, options_.measure);
      note_query_();
    };
    const auto bytes_of = [](const std::vector<double>& values) { return values.capacity() * sizeof(double); };
    const auto take = [&](std::size_t i, const std::vector<double>& values) {
      for (std::size_t point = 0; point < points.size(); ++point) add(i, values[point], *totals[point]);
      resources_.progress->add(1);
    };
    answer_in_batches<std::vector<double>>(topics_.size(), resources_.threads, default_held_bytes, make, bytes_of,
                                           take);
  }

  void add(std::size_t topic, double value, PointTotals& totals) const {
    totals.all.add(value);
    for (std::size_t fold = 0; fold < options_.folds; ++fold)
      (topic % options_.folds == fold ? totals.folds : totals.others)[fold].add(value);
  }

  const std::vector<const QueryEngine*>& engines_;
  const IndexShards& index_;
  std::span<const JudgedTopic> topics_;
  const TuningOptions& options_;
  const Resources& resources_;
  const std::function<void()>& note_query_;
  std::uint64_t max_points_;
  std::map<std::array<double, 3>, PointTotals> totals_;
  std::vector<ScoringPoint> trials_;  ///< in the order in which they were measured
};

/// Refuses indexes whose scores have no parameters.
void check_tunable(const IndexReader& index) {
  const IndexManifest& manifest = index.manifest();
  if (manifest.weighting)
    throw InvalidArgument(
        "{}: stores weights of the model {}, fixed when it was built; build an index for each value, "
        "with {} such as {}, and compare their runs",
        index.name(), weighting_text(*manifest.weighting), option_name<"index weights">,
        weighting_text(*manifest.weighting));
  if (manifest.impacts)
    throw InvalidArgument(
        "{}: its scores are sums of weights given by the corpus, which have no parameters to tune; "
        "name an index of texts",
        index.name());
}

void check_folds(std::uint64_t folds, std::uint64_t queries) {
  if (folds == 0) return;
  if (folds == 1)
    throw InvalidArgument("{}: 1 fold leaves no queries to choose on; take 2 or more", option_name<"folds">);
  if (folds > queries)
    throw InvalidArgument("{}: {} folds need as many judged queries with results, but there {} {}; take fewer folds",
                          option_name<"folds">, folds, queries == 1 ? "is" : "are", queries);
}

}  // namespace

TuningReport tune(const std::vector<const QueryEngine*>& engines, const IndexShards& index,
                  std::span<const TuningTopic> topics, ByteSource& qrels, const TuningOptions& options,
                  const Resources& resources, const std::function<void()>& note_query) {
  return run_stage(resources, [&] {
    for (const IndexReader& shard : index) check_tunable(shard);
    check_grid(options.grid, options.by_coordinates);
    check_range("results per query", options.k, 1, end_docid);
    const auto has_results = [&](QueryView query) {
      return std::ranges::any_of(query, [&](const QueryTerm& term) {
        return std::ranges::any_of(engines,
                                   [&](const QueryEngine* engine) { return engine->find(term.term).has_value(); });
      });
    };
    const JudgedTopics judged = join_topics(topics, has_results, qrels, index, options.measure.complete, resources);
    check_folds(options.folds, judged.topics.size());
    TuningReport report = Tuner(engines, index, judged, options, resources, note_query).run();
    report.unjudged = judged.unjudged;
    report.without_results = judged.without_results;
    return report;
  });
}

}  // namespace quern
