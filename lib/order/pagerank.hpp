#pragma once
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/order/in_links.hpp"

namespace quern {

struct PagerankOptions {
  double damping = 0.85;          ///< as in Brin and Page
  double tolerance = 1e-9;        ///< iterations end when the ranks change by less, summed up
  unsigned max_iterations = 500;  ///< more than any graph needs: the change falls by `damping` at least each time
};

struct Pagerank {
  std::vector<double> ranks;  ///< of each document; they sum to 1
  unsigned iterations = 0;
  double last_change = 0;  ///< sum of the absolute changes in the last iteration
  bool converged = false;
};

/// Brin and Page: The Anatomy of a Large-Scale Hypertextual Web Search Engine (1998), 2.1.1, with ranks that sum to 1.
/// Documents without links give their rank to all alike. The same bits for any number of threads. 16 bytes a document
/// beside the graph.
Pagerank compute_pagerank(const InLinks& graph, const PagerankOptions& options, const Resources& resources);

}  // namespace quern
