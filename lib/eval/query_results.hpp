#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace quern {

/// The relevance of a result that has no judgement; negative judgements count as none.
inline constexpr std::int32_t not_judged = -1;

/// A query's results, to be put in the order in which trec_eval sees them: by decreasing score, ties by decreasing
/// docno, whatever their order or ranks in the file.
class QueryResults {
 public:
  /// Memory that a result takes at most.
  static constexpr std::uint64_t bytes_per_result = 16;

  /// Results come in increasing order of their docnos. The score is not NaN.
  void add(float score, std::int32_t relevance) {
    results_.push_back({score, relevance, static_cast<std::uint32_t>(results_.size())});
  }
  bool empty() const { return results_.empty(); }
  void clear() { results_.clear(); }

  /// The relevances of the first `depth` results, the best one first. Valid until the next call of a function.
  std::span<const std::int32_t> ranked(std::uint64_t depth) {
    std::sort(results_.begin(), results_.end(), [](const Result& a, const Result& b) {
      return a.score != b.score ? a.score > b.score : a.place > b.place;
    });
    relevances_.clear();
    for (const Result& result : std::span(results_).first(std::min<std::uint64_t>(depth, results_.size())))
      relevances_.push_back(result.relevance);
    return relevances_;
  }

 private:
  struct Result {
    float score;
    std::int32_t relevance;
    std::uint32_t place;  ///< in the order of docnos
  };

  std::vector<Result> results_;
  std::vector<std::int32_t> relevances_;
};

}  // namespace quern
