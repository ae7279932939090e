#include "quern/order/pagerank.hpp"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quern {

namespace {

/// Sums the shares of the documents that link to each row of a run, row by row.
class RowsInMemory {
 public:
  RowsInMemory(const InLinks& graph, docid_t first, std::size_t) : graph_(graph), document_(first) {}
  double next_sum(std::span<const double> shares) {
    double sum = 0;
    for (const docid_t source : graph_.row(document_)) sum += shares[source];
    ++document_;
    return sum;
  }

 private:
  const InLinks& graph_;
  docid_t document_;
};

class RowsInFile {
 public:
  RowsInFile(const SpooledInLinks& graph, docid_t, std::size_t run)
      : sources_(graph.rows, graph.run_begins[run], graph.run_begins[run + 1]) {}
  double next_sum(std::span<const double> shares) {
    double sum = 0;
    for (docid_t source = next(); source != end_docid; source = next()) sum += shares[source];
    return sum;
  }

 private:
  docid_t next() {
    const docid_t* source = sources_.peek();
    if (source == nullptr) return end_docid;
    sources_.pop();
    return *source;
  }

  RecordSpool<docid_t>::Reader sources_;
};

RowsInMemory rows_in_run(const InLinks& graph, docid_t first, std::size_t run) { return {graph, first, run}; }
RowsInFile rows_in_run(const SpooledInLinks& graph, docid_t first, std::size_t run) { return {graph, first, run}; }

const std::vector<docid_t>& row_runs(const SpooledInLinks& graph) { return graph.runs; }

/// Power iteration by pulling: each document sums the shares of the documents that link to it. Threads take runs of
/// documents; sums over all documents add the runs' sums in order.
template <class Graph>
class PowerIteration {
 public:
  PowerIteration(const Graph& graph, double damping)
      : graph_(graph),
        damping_(damping),
        runs_(row_runs(graph)),
        run_sums_(runs_.size() - 1),
        ranks_(graph.documents(), 1.0 / graph.documents()),
        shares_(graph.documents()) {}

  /// Returns the sum of the absolute changes.
  double step() {
    const double idle = over_runs([this](std::size_t run) { return set_shares(runs_[run], runs_[run + 1]); });
    const double base = ((1 - damping_) + damping_ * idle) / graph_.documents();
    return over_runs([this, base](std::size_t run) { return pull(run, base); });
  }

  std::vector<double> take_ranks() { return std::move(ranks_); }

 private:
  template <class Work>
  double over_runs(Work&& work) {
    tbb::parallel_for(std::size_t{0}, run_sums_.size(), [&](std::size_t run) { run_sums_[run] = work(run); });
    return std::accumulate(run_sums_.begin(), run_sums_.end(), 0.0);
  }

  /// Computes each document's share for each of its targets; returns the total rank of documents without links.
  double set_shares(docid_t begin, docid_t end) {
    double idle = 0;
    for (docid_t document = begin; document < end; ++document) {
      const std::uint32_t degree = graph_.out_degrees[document];
      if (degree == 0) idle += ranks_[document];
      shares_[document] = degree == 0 ? 0 : ranks_[document] / degree;
    }
    return idle;
  }

  /// Computes the new ranks from the shares; returns the sum of the absolute changes.
  double pull(std::size_t run, double base) {
    double change = 0;
    auto rows = rows_in_run(graph_, runs_[run], run);
    for (docid_t document = runs_[run]; document < runs_[run + 1]; ++document) {
      const double rank = base + damping_ * rows.next_sum(shares_);
      change += std::abs(rank - ranks_[document]);
      ranks_[document] = rank;
    }
    return change;
  }

  const Graph& graph_;
  double damping_;
  std::vector<docid_t> runs_;
  std::vector<double> run_sums_;
  std::vector<double> ranks_, shares_;
};

void scale_linear(std::span<float> ranks) {
  const float max_rank = *std::max_element(ranks.begin(), ranks.end());
  for (float& rank : ranks) rank = max_rank > 0 ? rank / max_rank : 1.0f;
}

/// The smallest positive rank becomes 0, and ranks of 0 stay 0.
void scale_log(std::span<float> ranks) {
  float min_rank = 0, max_rank = 0;
  for (const float rank : ranks) {
    if (rank > 0) min_rank = min_rank == 0 ? rank : std::min(min_rank, rank);
    max_rank = std::max(max_rank, rank);
  }
  const double range = max_rank > min_rank ? std::log(static_cast<double>(max_rank) / min_rank) : 0;
  for (float& rank : ranks) {
    if (range == 0)
      rank = rank == max_rank ? 1.0f : 0.0f;
    else
      rank = rank <= min_rank ? 0.0f : static_cast<float>(std::log(static_cast<double>(rank) / min_rank) / range);
    rank = std::min(rank, 1.0f);
  }
}

/// A rank becomes the fraction of documents with this rank or a lower one.
void scale_rank(std::span<float> ranks) {
  std::vector<float> sorted(ranks.begin(), ranks.end());
  tbb::parallel_sort(sorted.begin(), sorted.end());
  const auto documents = static_cast<double>(sorted.size());
  tbb::parallel_for(std::size_t{0}, ranks.size(), [&](std::size_t i) {
    const auto up_to = std::upper_bound(sorted.begin(), sorted.end(), ranks[i]) - sorted.begin();
    ranks[i] = static_cast<float>(static_cast<double>(up_to) / documents);
  });
}

}  // namespace

Pagerank compute_pagerank(const PageGraph& graph, const PagerankOptions& options, const Resources& resources) {
  const auto compute = [&]<class Graph>(const Graph& rows) {
    Pagerank result;
    result.converged = rows.documents() == 0;
    if (result.converged) return result;
    resources.progress->start("PageRank", 0, "iterations");
    PowerIteration<Graph> iteration(rows, options.damping);
    while (!result.converged && result.iterations < options.max_iterations) {
      result.last_change = iteration.step();
      ++result.iterations;
      result.converged = result.last_change < options.tolerance;
      resources.progress->add(1);
    }
    resources.progress->finish();
    result.ranks = iteration.take_ranks();
    return result;
  };
  return run_stage(resources, [&] {
    check_range("damping", options.damping, 0, 1);
    check_range("tolerance", options.tolerance, 0, 1);
    return std::visit(compute, graph);
  });
}

void apply_scale(PagerankScale scale, std::span<float> ranks, const Resources& resources) {
  switch (scale) {
    case PagerankScale::rank:
      return run_stage(resources, [&] { scale_rank(ranks); });
    case PagerankScale::log:
      return scale_log(ranks);
    case PagerankScale::linear:
      return scale_linear(ranks);
  }
}

}  // namespace quern
