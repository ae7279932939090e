#pragma once
#include <span>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/order/in_links.hpp"

namespace quern {

struct PagerankOptions {
  double damping = 0.85;          ///< as in Brin and Page
  double tolerance = 1e-9;        ///< iterations end when the ranks' absolute changes sum to less
  unsigned max_iterations = 500;  ///< more than any graph needs: each change is at most `damping` times the last
};

struct Pagerank {
  std::vector<double> ranks;  ///< of each document; they sum to 1
  unsigned iterations = 0;
  double last_change = 0;  ///< sum of the absolute changes in the last iteration
  bool converged = false;
};

/// Brin and Page: The Anatomy of a Large-Scale Hypertextual Web Search Engine (1998), 2.1.1, with ranks that sum to 1.
/// Documents without links give their rank to all documents equally. Gives the same bits for any number of threads and
/// both kinds of graphs. Takes 16 bytes per document besides the graph.
Pagerank compute_pagerank(const PageGraph& graph, const PagerankOptions& options, const Resources& resources);

/// Replaces each rank, finite and at least 0, by its value on the scale. `ranks` must not be empty.
void apply_scale(PagerankScale scale, std::span<float> ranks, const Resources& resources);

}  // namespace quern
