#include "quern/measure/rerank_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <memory>

#include "quern/core/error.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/measure/cpu_energy.hpp"
#include "quern/measure/measurement.hpp"
#include "quern/ranker/parallel_score.hpp"

namespace quern {
namespace {

/// Queries of a repeat: enough of them for a time that clocks can measure, and to use different documents.
std::size_t queries_per_repeat(std::size_t documents) { return std::clamp<std::size_t>(4000 / documents, 1, 200); }

/// One model, one number of documents, one number of threads.
class RerankCase {
 public:
  RerankCase(std::string name, const Ranker& ranker, const FeatureColumns& features, std::size_t documents,
             unsigned threads)
      : ranker_(ranker), features_(features), scores_(documents) {
    figures_.ranker = std::move(name);
    figures_.documents = documents;
    figures_.threads = threads;
    figures_.queries = queries_per_repeat(documents);
  }

  void measure() {
    const auto answer = [&] {
      for_each_query([&](const FeatureColumns& query) {
        score_on_threads(ranker_, query, scores_, figures_.threads);
        keep(scores_.data());
      });
    };
    energy_.start();
    seconds_.push_back(per_query(figures_.threads == 1 ? seconds_of(answer) : wall_seconds(answer)));
    if (const auto joules = energy_.joules()) joules_.push_back(per_query(*joules));
    if (figures_.threads == 1) measure_stages();
  }

  RerankFigures figures() const {
    RerankFigures figures = figures_;
    figures.seconds = median(seconds_);
    if (!joules_.empty()) figures.joules = median(joules_);
    const auto median_of = [&](double RankerStages::*stage) {
      std::vector<double> times;
      for (const RankerStages& stages : stages_) times.push_back(stages.*stage);
      return times.empty() ? 0 : median(times);
    };
    figures.stages = {median_of(&RankerStages::inputs), median_of(&RankerStages::trees),
                      median_of(&RankerStages::layers)};
    return figures;
  }

 private:
  /// Calls what(documents of a query), with other documents each time.
  void for_each_query(const std::function<void(const FeatureColumns&)>& what) {
    constexpr std::size_t unit = FeatureColumns::documents_per_group;
    const std::size_t step = (figures_.documents + unit - 1) / unit * unit;
    for (std::size_t query = 0; query < figures_.queries; ++query) {
      if (first_ + figures_.documents > features_.documents) first_ = 0;
      what({features_.values + first_, figures_.documents, features_.stride});
      first_ += step;
    }
  }

  void measure_stages() {
    RankerStages stages;
    for_each_query([&](const FeatureColumns& query) { ranker_.score(query, scores_, stages); });
    stages_.push_back({per_query(stages.inputs), per_query(stages.trees), per_query(stages.layers)});
  }

  double per_query(double of_all) const { return of_all / static_cast<double>(figures_.queries); }

  const Ranker& ranker_;
  const FeatureColumns& features_;
  std::vector<double> scores_;
  RerankFigures figures_;
  CpuEnergyMeter energy_;
  std::size_t first_ = 0;  ///< document of the next query
  std::vector<double> seconds_, joules_;
  std::vector<RankerStages> stages_;
};

void compare_with_plain(const RerankSubject& subject, const Ranker& ranker, const FeatureColumns& features,
                        std::size_t documents, unsigned threads) {
  const FeatureColumns some = {features.values, std::min(documents, features.documents), features.stride};
  std::vector<double> expected(some.documents), found(some.documents);
  make_plain_ranker(*subject.model)->score(some, expected);
  score_on_threads(ranker, some, found, threads);
  for (std::size_t d = 0; d < some.documents; ++d)
    if (std::bit_cast<std::uint64_t>(expected[d]) != std::bit_cast<std::uint64_t>(found[d]))
      throw Error(fmt::format("{} gives document {} the score {} instead of {}; nothing was measured", subject.name, d,
                              found[d], expected[d]));
}

}  // namespace

std::vector<RerankFigures> measure_reranking(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                                             const RerankBenchOptions& options, Progress& progress) {
  if (subjects.empty() || options.documents.empty() || options.repeats == 0 ||
      std::count(options.documents.begin(), options.documents.end(), 0u) != 0)
    throw InvalidArgument("a benchmark needs models, documents and repeats");
  if (features.documents < *std::max_element(options.documents.begin(), options.documents.end()))
    throw InvalidArgument("a benchmark needs features of as many documents as a query has");
  std::vector<std::unique_ptr<Ranker>> rankers;
  std::deque<RerankCase> cases;
  progress.start("measure", std::uint64_t{options.repeats} + 1, "repeats");
  for (const RerankSubject& subject : subjects) {
    rankers.push_back(make_ranker(*subject.model));
    compare_with_plain(subject, *rankers.back(), features, options.documents_compared, options.threads);
    for (const std::size_t documents : options.documents) {
      cases.emplace_back(subject.name, *rankers.back(), features, documents, 1u);
      if (options.threads > 1) cases.emplace_back(subject.name, *rankers.back(), features, documents, options.threads);
    }
  }
  progress.add(1);
  for (unsigned i = 0; i < options.repeats; ++i) {
    if (i % 2 == 0) {
      for (RerankCase& one : cases) one.measure();
    } else {
      std::for_each(cases.rbegin(), cases.rend(), [](RerankCase& one) { one.measure(); });
    }
    progress.add(1);
  }
  progress.finish();
  std::vector<RerankFigures> figures;
  for (const RerankCase& one : cases) figures.push_back(one.figures());
  return figures;
}

}  // namespace quern
