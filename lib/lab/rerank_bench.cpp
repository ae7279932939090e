#include "quern/lab/rerank_bench.hpp"

#include <algorithm>
#include <deque>
#include <memory>

#include "quern/core/error.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/lab/cpu_energy.hpp"
#include "quern/lab/measurement.hpp"
#include "quern/lab/rerank_queries.hpp"
#include "quern/rank/models/parallel_score.hpp"

namespace quern {
namespace {

/// One model, one number of documents, one number of threads.
class RerankCase {
 public:
  RerankCase(std::string name, const Ranker& ranker, const FeatureColumns& features, std::size_t documents,
             unsigned threads)
      : ranker_(ranker), queries_(features, documents), scores_(documents) {
    figures_.ranker = std::move(name);
    figures_.documents = documents;
    figures_.threads = threads;
    figures_.queries = queries_.count();
  }

  void measure() {
    const auto answer = [&] {
      queries_.for_each([&](const FeatureColumns& query) {
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
  void measure_stages() {
    RankerStages stages;
    queries_.for_each([&](const FeatureColumns& query) { ranker_.score(query, scores_, stages); });
    stages_.push_back({per_query(stages.inputs), per_query(stages.trees), per_query(stages.layers)});
  }

  double per_query(double of_all) const { return of_all / static_cast<double>(figures_.queries); }

  const Ranker& ranker_;
  RerankQueries queries_;
  std::vector<double> scores_;
  RerankFigures figures_;
  CpuEnergyMeter energy_;
  std::vector<double> seconds_, joules_;
  std::vector<RankerStages> stages_;
};

void compare_with_plain(const RerankSubject& subject, const Ranker& ranker, const FeatureColumns& features,
                        std::size_t documents, unsigned threads) {
  const auto plain = make_plain_ranker(*subject.model);
  check_scores(
      subject.name, {features.values, std::min(documents, features.documents), features.stride},
      [&](const FeatureColumns& some, std::span<double> scores) { plain->score(some, scores); },
      [&](const FeatureColumns& some, std::span<double> scores) { score_on_threads(ranker, some, scores, threads); });
}

}  // namespace

void check_rerank_options(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                          const RerankBenchOptions& options) {
  if (subjects.empty() || options.documents.empty() || options.repeats == 0 ||
      std::count(options.documents.begin(), options.documents.end(), 0u) != 0)
    throw InvalidArgument("a benchmark needs models, documents and repeats");
  if (features.documents < *std::max_element(options.documents.begin(), options.documents.end()))
    throw InvalidArgument("a benchmark needs features of as many documents as a query has");
}

std::vector<RerankFigures> measure_reranking(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                                             const RerankBenchOptions& options, Progress& progress) {
  check_rerank_options(subjects, features, options);
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
