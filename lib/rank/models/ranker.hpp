#pragma once
#include <tbb/parallel_for.h>

#include <ctime>

#include "quern/core/resources.hpp"
#include "quern/formats/rankers/ranker_model.hpp"

namespace quern {

/// Scoring time by stage, in seconds of one thread's processor time.
struct RankerStages {
  double inputs = 0;  ///< transformations of features, and ranks for trees
  double trees = 0;
  double layers = 0;  ///< layers of networks; sums of linear models
};

/// A model ready to score documents on the CPU. Thread-safe.
class Ranker {
 public:
  virtual ~Ranker() = default;
  /// Fills scores[d] for each document d; `features` has a column for each of RankerModel::features. The scores' bits
  /// depend neither on the processor nor on how documents are divided among calls.
  virtual void score(const FeatureColumns& features, std::span<double> scores) const = 0;
  /// Also adds the time of each stage to `stages`. Rankers without stages add nothing.
  virtual void score(const FeatureColumns& features, std::span<double> scores, RankerStages& stages) const;
};

/// Prepares a model for fast evaluation with the kernels of simd_level(). Throws InvalidArgument if it
/// fails check_model().
std::unique_ptr<Ranker> make_ranker(const RankerModel& model);

/// A reference for tests and benchmarks: computes the same scores by following each tree from its root, document by
/// document.
std::unique_ptr<Ranker> make_plain_ranker(const RankerModel& model);

/// Adds this thread's processor time since the end of the last stage to a stage; does nothing without stages.
class StageClock {
 public:
  explicit StageClock(RankerStages* stages) : stages_(stages), last_(stages == nullptr ? 0 : now()) {}

  void end(double RankerStages::*stage) {
    if (stages_ == nullptr) return;
    const double time = now();
    stages_->*stage += time - last_;
    last_ = time;
  }

 private:
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  RankerStages* stages_;
  double last_;
};

/// Minimum documents worth a thread.
inline constexpr std::size_t min_documents_per_thread = 64;

/// Scores documents on `threads` threads, with the same results as one call of score().
inline void score_on_threads(const Ranker& ranker, const FeatureColumns& features, std::span<double> scores,
                             unsigned threads) {
  // Ranges begin at whole groups of documents.
  constexpr std::size_t unit = min_documents_per_thread;
  static_assert(unit % FeatureColumns::documents_per_group == 0);
  const std::size_t units = (features.documents + unit - 1) / unit;
  const std::size_t step = (units + threads - 1) / threads * unit;
  if (threads == 1 || units <= 1) return ranker.score(features, scores);
  on_threads(threads, [&] {
    tbb::parallel_for(std::size_t{0}, (features.documents + step - 1) / step, [&](std::size_t part) {
      const std::size_t first = part * step, some = std::min(step, features.documents - first);
      ranker.score({features.values + first, some, features.stride}, scores.subspan(first, some));
    });
  });
}

/// Throws InvalidArgument, with the place, if a model breaks the rules of ranker_model.hpp that keep evaluation in
/// bounds: numbers of features and inputs, children, leaves, groups and sizes of layers. NaN thresholds are invalid,
/// too. Readers give better messages for files; this check is for models from any source.
void check_model(const RankerModel& model);

}  // namespace quern
