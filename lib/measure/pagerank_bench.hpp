#pragma once
#include <cstdint>

#include "quern/order/pagerank.hpp"

namespace quern {

struct PagerankFigures {
  unsigned iterations = 0;
  double last_change = 0;  ///< of all ranks, summed up
  double seconds = 0;      ///< of one computation by the clock; the median over the repeats
  std::uint64_t memory_bytes =
      0;  ///< the most that this process held, reading the graph, too; 0 where the system doesn't tell

  double seconds_per_iteration() const { return iterations == 0 ? 0 : seconds / iterations; }
};

/// Computes the graph's PageRank `repeats` times.
PagerankFigures measure_pagerank(const InLinks& graph, const PagerankOptions& options, unsigned repeats,
                                 const Resources& resources);

}  // namespace quern
