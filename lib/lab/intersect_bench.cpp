#include "quern/lab/intersect_bench.hpp"

#include <deque>

#include "quern/lab/measuring.hpp"

namespace quern {
namespace {

using Queries = std::span<const QueryView>;

/// One method, and its measurements.
class IntersectionSubject {
 public:
  IntersectionSubject(const Intersection& intersection, Queries queries)
      : intersection_(intersection), queries_(queries), samples_(queries.size()) {}

  const std::vector<docid_t>& documents(std::size_t query) {
    intersection_.answer(queries_[query], space_, answer_);
    return answer_.documents;
  }

  void check(std::size_t query, const std::vector<docid_t>& expected) {
    if (documents(query) != expected) {
      throw Error("{}: {} finds different documents for \"{}\" than the first method; nothing was measured",
                  intersection_.index().name(), intersection_.method().name, text_of_terms(queries_[query]));
    }
    counts_ += answer_.statistics.counts;
    results_ += expected.size();
  }

  /// Whether no checked query had postings to intersect.
  bool reads_nothing() const { return counts_.postings == 0; }

  void measure() {
    for (std::size_t query = 0; query < queries_.size(); ++query) {
      intersection_.answer(queries_[query], space_, answer_);
      samples_[query].whole.push_back(answer_.statistics.time_us);
      samples_[query].decode.push_back(answer_.statistics.decode_us);
      samples_[query].intersect.push_back(answer_.statistics.intersect_us);
    }
  }

  IntersectionFigures figures() const {
    IntersectionFigures figures;
    figures.intersection = &intersection_;
    figures.queries = queries_.size();
    figures.results = results_;
    figures.counts = counts_;
    std::vector<double> times;
    for (const Samples& samples : samples_) {
      times.push_back(median(samples.whole));
      figures.decode_us += median(samples.decode);
      figures.intersect_us += median(samples.intersect);
    }
    figures.times = summarize(std::move(times));
    return figures;
  }

 private:
  /// A query's times in each repeat.
  struct Samples {
    std::vector<double> whole, decode, intersect;
  };

  const Intersection& intersection_;
  Intersection::WorkSpace space_;
  Queries queries_;
  IntersectionAnswer answer_;
  std::vector<Samples> samples_;
  QueryStatistics counts_;
  std::uint64_t results_ = 0;
};

}  // namespace

std::vector<IntersectionFigures> measure_intersections(Queries queries, std::span<const Intersection> intersections,
                                                       unsigned repeats, Progress& progress) {
  if (queries.empty() || intersections.empty() || repeats == 0)
    throw InvalidArgument("a benchmark needs queries, methods and repeats");
  std::deque<IntersectionSubject> subjects;
  for (const Intersection& intersection : intersections) subjects.emplace_back(intersection, queries);
  // This warms up as well.
  for (std::size_t query = 0; query < queries.size(); ++query) {
    const std::vector<docid_t> expected = subjects.front().documents(query);
    for (IntersectionSubject& subject : subjects) subject.check(query, expected);
  }
  if (subjects.front().reads_nothing())
    throw InvalidArgument(
        "{}: none of the {} queries has all of its terms in this index, so there is nothing to intersect; "
        "use queries for its collection",
        intersections.front().index().name(), queries.size());
  progress.start("measure", repeats * subjects.size(), "measurements");
  take_turns(subjects, repeats, [&](IntersectionSubject& subject) {
    subject.measure();
    progress.add(1);
  });
  progress.finish();
  std::vector<IntersectionFigures> figures;
  for (const IntersectionSubject& subject : subjects) figures.push_back(subject.figures());
  return figures;
}

}  // namespace quern
