#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/query/algorithm.hpp"
#include "quern/query/list_window.hpp"
#include "quern/query/threshold.hpp"
#include "quern/query/window_scores.hpp"

namespace quern {
namespace {

/// MaxScore (Turtle, Flood: Query Evaluation: Strategies and Optimizations, 1995) over windows of docIDs with block
/// maxima (Ding, Suel, SIGIR 2011). Lists stay in the order of summation, from the rarest term on, so that scores come
/// out as exact as the exhaustive ones: in each window the first lists are added up, until what is left can't make a
/// result by itself; the others are asked only about documents that can still become one.
class MaxScore {
 public:
  MaxScore(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top)
      : context_(context), top_(top), threshold_(context, lists, top), bounds_(lists.size() + 1) {
    lists_.reserve(lists.size());
    for (const WeightedList& list : lists) lists_.emplace_back(context, list);
    candidates_.reserve(window_documents);
  }

  void run() {
    const docid_t documents = context_.index->num_documents();
    for (docid_t next = next_docid(); next < documents; next = next_docid()) {
      const docid_t begin = next / window_documents * window_documents;
      passed_ = window_end(context_, begin);
      process_window(begin, passed_);
    }
  }

 private:
  /// The first docID behind the windows so far that the lists which can make a result by themselves may hold.
  docid_t next_docid() {
    double rest = 0;
    std::size_t essential = lists_.size();
    const double least = threshold_.value();
    while (essential > 0) {
      rest += lists_[essential - 1].max_part();
      if (with_slack(rest, lists_.size()) > least) break;
      --essential;
    }
    docid_t next = end_docid;
    for (std::size_t i = 0; i < essential; ++i) {
      const docid_t docid = lists_[i].next_docid();
      if (docid != end_docid) next = std::min(next, std::max(docid, passed_));
    }
    return next;
  }

  void process_window(docid_t begin, docid_t end) {
    const std::size_t n = lists_.size();
    // bounds_[i]: what lists i and later can add in this window.
    bounds_[n] = 0;
    for (std::size_t i = n; i-- > 0;) bounds_[i] = bounds_[i + 1] + lists_[i].bound(begin, end);
    const double least = threshold_.value();
    if (with_slack(bounds_[0], n) <= least) return;
    std::size_t essential = n;
    while (with_slack(bounds_[essential - 1], n) <= least) --essential;
    for (std::size_t i = 0; i < essential; ++i) lists_[i].add_to(begin, end, scores_.data());
    scores_.take_above(least_score(bounds_[essential]), begin, end, candidates_);
    for (std::size_t i = essential; i < n && !candidates_.empty(); ++i) complete(i);
    for (const ScoredDocument& candidate : candidates_) top_.add(candidate.docid, candidate.score);
  }

  /// A score s with (s + rest) * slack <= threshold is passed over: the greatest such s, rounded down, but not below 0.
  float least_score(double rest) const {
    const double least = static_cast<double>(threshold_.value()) / with_slack(1.0, lists_.size()) - rest;
    return least <= 0 ? 0.0f : std::nextafter(static_cast<float>(least), 0.0f);
  }

  /// Adds the parts of list i to the candidates that have it, and drops those that can't pass any more.
  void complete(std::size_t i) {
    const float least = least_score(bounds_[i + 1]);
    std::size_t kept = 0;
    for (ScoredDocument candidate : candidates_) {
      if (lists_[i].find(candidate.docid)) candidate.score += lists_[i].part();
      if (candidate.score > least) candidates_[kept++] = candidate;
    }
    candidates_.resize(kept);
  }

  const ScoringContext& context_;
  TopK& top_;
  Threshold threshold_;
  std::vector<ListWindow> lists_;
  std::vector<double> bounds_;
  WindowScores scores_;
  std::vector<ScoredDocument> candidates_;
  docid_t passed_ = 0;
};

}  // namespace

void run_maxscore(const ScoringContext& context, std::span<const WeightedList> lists, TopK& top) {
  MaxScore(context, lists, top).run();
}

}  // namespace quern
