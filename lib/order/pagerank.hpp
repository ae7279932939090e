#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/order/page_graph.hpp"

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

/// How PageRank, which sums to 1 over all documents, becomes a part of scores in [0, 1]. The greatest becomes 1. Wang
/// et al. only say that both parts of a score come into one space; which way decides how early a query may stop.
struct PagerankScale {
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Replaces each rank, finite and at least 0, by its scaled value.
  void (*apply)(std::span<float> ranks) = nullptr;
};

/// All scales, in the order in which help texts show them. The one place to add one.
const std::vector<const PagerankScale*>& all_pagerank_scales();

/// Throws InvalidArgument, with the names there are, where no scale is called so.
const PagerankScale& pagerank_scale_named(std::string_view name);

}  // namespace quern
