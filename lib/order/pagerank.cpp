#include "quern/order/pagerank.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <numeric>

namespace quern {
namespace {

/// Power iteration that pulls: each document sums up what the documents that link to it give. Runs of documents are
/// worked on in parallel; sums over all are those of the runs, in their order.
class PowerIteration {
 public:
  PowerIteration(const InLinks& graph, double damping)
      : graph_(graph),
        damping_(damping),
        runs_(row_runs(graph)),
        run_sums_(runs_.size() - 1),
        ranks_(graph.documents(), 1.0 / graph.documents()),
        shares_(graph.documents()) {}

  /// Returns the sum of the absolute changes.
  double step() {
    const double idle = over_runs([this](docid_t begin, docid_t end) { return set_shares(begin, end); });
    const double base = ((1 - damping_) + damping_ * idle) / graph_.documents();
    return over_runs([this, base](docid_t begin, docid_t end) { return pull(begin, end, base); });
  }

  std::vector<double> take_ranks() { return std::move(ranks_); }

 private:
  template <class Work>
  double over_runs(Work&& work) {
    tbb::parallel_for(std::size_t{0}, run_sums_.size(),
                      [&](std::size_t i) { run_sums_[i] = work(runs_[i], runs_[i + 1]); });
    return std::accumulate(run_sums_.begin(), run_sums_.end(), 0.0);
  }

  /// What each document gives to each that it links to; returns the rank of those that link to none.
  double set_shares(docid_t begin, docid_t end) {
    double idle = 0;
    for (docid_t document = begin; document < end; ++document) {
      const std::uint32_t degree = graph_.out_degrees[document];
      if (degree == 0) idle += ranks_[document];
      shares_[document] = degree == 0 ? 0 : ranks_[document] / degree;
    }
    return idle;
  }

  /// New ranks from the shares; returns the sum of the absolute changes.
  double pull(docid_t begin, docid_t end, double base) {
    double change = 0;
    for (docid_t document = begin; document < end; ++document) {
      double sum = 0;
      for (const docid_t source : graph_.row(document)) sum += shares_[source];
      const double rank = base + damping_ * sum;
      change += std::abs(rank - ranks_[document]);
      ranks_[document] = rank;
    }
    return change;
  }

  const InLinks& graph_;
  double damping_;
  std::vector<docid_t> runs_;
  std::vector<double> run_sums_;
  std::vector<double> ranks_, shares_;
};

}  // namespace

Pagerank compute_pagerank(const InLinks& graph, const PagerankOptions& options, const Resources& resources) {
  Pagerank result;
  result.converged = graph.documents() == 0;
  if (result.converged) return result;
  resources.progress->start("PageRank", 0, "iterations");
  tbb::task_arena arena(static_cast<int>(resources.threads));
  PowerIteration iteration(graph, options.damping);
  while (!result.converged && result.iterations < options.max_iterations) {
    arena.execute([&] { result.last_change = iteration.step(); });
    ++result.iterations;
    result.converged = result.last_change < options.tolerance;
    resources.progress->add(1);
  }
  resources.progress->finish();
  result.ranks = iteration.take_ranks();
  return result;
}

}  // namespace quern
