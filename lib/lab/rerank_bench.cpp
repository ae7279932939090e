#include "quern/lab/rerank_bench.hpp"

#include <bit>
#include <cmath>
#include <deque>

#include "quern/lab/measuring.hpp"

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
    if (stages_.empty()) return figures;
    figures.stages = {median_of(stages_, &RankerStages::inputs), median_of(stages_, &RankerStages::trees),
                      median_of(stages_, &RankerStages::layers)};
    return figures;
  }

 private:
  void measure_stages() {
    RankerStages stages;
    queries_.for_each([&](const FeatureColumns& query) { ranker_.score(query, scores_, stages); });
    stages_.push_back({per_query(stages.inputs), per_query(stages.trees), per_query(stages.layers)});
  }

  double per_query(double total) const { return total / static_cast<double>(figures_.queries); }

  const Ranker& ranker_;
  RerankQueries queries_;
  std::vector<double> scores_;
  RerankFigures figures_;
  CpuEnergyMeter energy_;
  std::vector<double> seconds_, joules_;
  std::vector<RankerStages> stages_;
};

}  // namespace

void check_rerank_options(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                          const RerankBenchOptions& options) {
  if (subjects.empty() || options.documents.empty() || options.repeats == 0 ||
      std::count(options.documents.begin(), options.documents.end(), 0u) != 0)
    throw InvalidArgument("a benchmark needs models, documents and repeats");
  if (features.documents < *std::max_element(options.documents.begin(), options.documents.end()))
    throw InvalidArgument("the benchmark has features of fewer documents than a query needs");
}

std::vector<RerankFigures> measure_reranking(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                                             const RerankBenchOptions& options, Progress& progress) {
  check_rerank_options(subjects, features, options);
  std::vector<std::unique_ptr<Ranker>> rankers;
  std::deque<RerankCase> cases;
  for (const RerankSubject& subject : subjects) {
    rankers.push_back(make_ranker(*subject.model));
    check_scores(subject, features, options.documents_compared,
                 [&](const FeatureColumns& columns, std::span<double> scores) {
                   score_on_threads(*rankers.back(), columns, scores, options.threads);
                 });
    for (const std::size_t documents : options.documents) {
      cases.emplace_back(subject.name, *rankers.back(), features, documents, 1u);
      if (options.threads > 1) cases.emplace_back(subject.name, *rankers.back(), features, documents, options.threads);
    }
  }
  return measure_in_turns(cases, options.repeats, progress);
}

RerankQueries::RerankQueries(const FeatureColumns& features, std::size_t documents)
    : features_(features), documents_(documents), count_(std::clamp<std::size_t>(4000 / documents, 1, 200)) {}

void RerankQueries::for_each(const std::function<void(const FeatureColumns&)>& what) {
  constexpr std::size_t unit = FeatureColumns::documents_per_group;
  const std::size_t step = (documents_ + unit - 1) / unit * unit;
  for (std::size_t query = 0; query < count_; ++query) {
    if (first_ + documents_ > features_.documents) first_ = 0;
    what({features_.values + first_, documents_, features_.stride});
    first_ += step;
  }
}

void check_scores(const std::string& name, const FeatureColumns& features, const ScoreDocuments& expected,
                  const ScoreDocuments& score) {
  std::vector<double> right(features.documents), found(features.documents);
  expected(features, right);
  score(features, found);
  for (std::size_t d = 0; d < features.documents; ++d)
    if (std::bit_cast<std::uint64_t>(right[d]) != std::bit_cast<std::uint64_t>(found[d]))
      throw Error("{} gives document {} the score {} instead of {}; nothing was measured", name, d, found[d], right[d]);
}

void check_scores(const RerankSubject& subject, const FeatureColumns& features, std::size_t documents,
                  const ScoreDocuments& score) {
  const auto plain = make_plain_ranker(*subject.model);
  check_scores(
      subject.name, first_documents(features, documents),
      [&](const FeatureColumns& columns, std::span<double> scores) { plain->score(columns, scores); }, score);
}

double largest_difference(const FeatureColumns& features, const ScoreDocuments& expected, const ScoreDocuments& score) {
  std::vector<double> right(features.documents), found(features.documents);
  expected(features, right);
  score(features, found);
  double difference = 0, size = 0;
  for (std::size_t d = 0; d < features.documents; ++d) {
    difference = std::max(difference, std::fabs(found[d] - right[d]));
    size = std::max(size, std::fabs(right[d]));
  }
  return size == 0 ? difference : difference / size;
}

namespace {

/// The CPU's figures for the same model and number of documents, on one thread or on several; null if there are none.
const RerankFigures* figures_like(const RerankFigures& like, std::span<const RerankFigures> on_cpu, bool one_thread) {
  const auto found = std::find_if(on_cpu.begin(), on_cpu.end(), [&](const RerankFigures& each) {
    return each.ranker == like.ranker && each.documents == like.documents && (each.threads == 1) == one_thread;
  });
  return found == on_cpu.end() ? nullptr : &*found;
}

RerankSummary summary_of(const std::vector<RerankFigures>& figures, std::span<const RerankFigures> on_cpu) {
  RerankSummary summary;
  summary.ranker = figures.front().ranker;
  for (const RerankFigures& gpu : figures) {
    const RerankFigures* const core = figures_like(gpu, on_cpu, true);
    if (core == nullptr) continue;
    if (gpu.seconds >= core->seconds)
      summary.min_documents.reset();
    else if (!summary.min_documents)
      summary.min_documents = gpu.documents;
    summary.max_documents = gpu.documents;
    summary.speedup = core->seconds / gpu.seconds;
    summary.threads_speedup.reset();
    if (const RerankFigures* const all = figures_like(gpu, on_cpu, false))
      summary.threads_speedup = all->seconds / gpu.seconds;
  }
  return summary;
}

}  // namespace

std::vector<RerankSummary> summarize_reranking(std::span<const RerankFigures> on_cpu,
                                               std::span<const RerankFigures> on_gpu) {
  std::vector<std::vector<RerankFigures>> rankers;
  for (const RerankFigures& gpu : on_gpu) {
    const auto same = std::find_if(rankers.begin(), rankers.end(),
                                   [&](const auto& ranker) { return ranker.front().ranker == gpu.ranker; });
    if (same == rankers.end())
      rankers.push_back({gpu});
    else
      same->push_back(gpu);
  }
  std::vector<RerankSummary> summaries;
  for (std::vector<RerankFigures>& ranker : rankers) {
    std::stable_sort(ranker.begin(), ranker.end(),
                     [](const RerankFigures& a, const RerankFigures& b) { return a.documents < b.documents; });
    RerankSummary summary = summary_of(ranker, on_cpu);
    if (summary.max_documents > 0) summaries.push_back(std::move(summary));
  }
  return summaries;
}

double mean_speedup(std::span<const RerankSummary> summaries) {
  double sum = 0;
  for (const RerankSummary& summary : summaries) sum += 1 / summary.speedup;
  return summaries.empty() ? 0 : static_cast<double>(summaries.size()) / sum;
}

}  // namespace quern
