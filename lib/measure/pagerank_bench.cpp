#include "quern/measure/pagerank_bench.hpp"

#include "quern/core/wall_clock.hpp"
#include "quern/measure/median.hpp"
#include "quern/measure/peak_memory.hpp"

namespace quern {

PagerankFigures measure_pagerank(const InLinks& graph, const PagerankOptions& options, unsigned repeats,
                                 const Resources& resources) {
  PagerankFigures figures;
  std::vector<double> seconds;
  for (unsigned i = 0; i < repeats; ++i) {
    const auto start = WallClock::now();
    const Pagerank pagerank = compute_pagerank(graph, options, resources);
    seconds.push_back(seconds_since(start));
    figures.iterations = pagerank.iterations;
    figures.last_change = pagerank.last_change;
  }
  figures.seconds = median(seconds);
  figures.memory_bytes = peak_memory_bytes().value_or(0);
  return figures;
}

}  // namespace quern
