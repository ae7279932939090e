#include "quern/order/in_links.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "quern/core/error.hpp"
#include "quern/core/size_text.hpp"

namespace quern {
namespace {

/// Of the graph (begin, degree, length of the row), and of PageRank (rank, share).
constexpr std::uint64_t ranking_bytes = 8 + 4 + 4 + 8 + 8;

void check_memory(std::uint64_t edges, docid_t documents, const Resources& resources) {
  const std::uint64_t needed = edges * sizeof(docid_t) + (documents + std::uint64_t{1}) * ranking_bytes;
  if (needed > resources.memory_bytes)
    throw InvalidArgument(
        fmt::format("PageRank of {} documents with {} links needs {} of memory, but --memory allows "
                    "{}; raise it",
                    documents, edges, size_text(needed), size_text(resources.memory_bytes)));
}

/// Puts each edge's source into its target's row, in the order in which edges come.
void scatter(const EdgeSpool& edges, InLinks& graph) {
  std::vector<std::uint64_t>& begins = graph.begins;
  edges.for_each([&](LinkEdge edge) { ++begins[edge.to + std::size_t{1}]; });
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  graph.sources.resize(edges.count());
  edges.for_each([&](LinkEdge edge) { graph.sources[begins[edge.to]++] = edge.from; });
  // Each begin has moved to its row's end, which is the next one's begin.
  std::copy_backward(begins.begin(), begins.end() - 1, begins.end());
  begins[0] = 0;
}

/// Sorts each row; returns how many distinct sources each has, in its front.
std::vector<std::uint32_t> sort_rows(InLinks& graph) {
  std::vector<std::uint32_t> lengths(graph.documents());
  const std::vector<docid_t> runs = row_runs(graph);
  tbb::parallel_for(std::size_t{0}, runs.size() - 1, [&](std::size_t run) {
    for (docid_t document = runs[run]; document < runs[run + 1]; ++document) {
      const auto begin = graph.sources.begin() + static_cast<std::ptrdiff_t>(graph.begins[document]);
      const auto end = graph.sources.begin() + static_cast<std::ptrdiff_t>(graph.begins[document + std::size_t{1}]);
      if (!std::is_sorted(begin, end)) std::sort(begin, end);
      lengths[document] = static_cast<std::uint32_t>(std::unique(begin, end) - begin);
    }
  });
  return lengths;
}

/// Moves the rows' fronts together.
void close_gaps(std::span<const std::uint32_t> lengths, InLinks& graph) {
  std::uint64_t to = 0;
  for (docid_t document = 0; document < graph.documents(); ++document) {
    const std::uint64_t from = graph.begins[document];
    if (from != to)
      std::copy_n(graph.sources.begin() + static_cast<std::ptrdiff_t>(from), lengths[document],
                  graph.sources.begin() + static_cast<std::ptrdiff_t>(to));
    graph.begins[document] = to;
    to += lengths[document];
  }
  graph.begins[graph.documents()] = to;
  graph.sources.resize(to);
}

}  // namespace

InLinks make_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources) {
  check_memory(edges.count(), documents, resources);
  InLinks graph;
  graph.begins.resize(documents + std::size_t{1});
  graph.out_degrees.resize(documents);
  scatter(edges, graph);
  close_gaps(sort_rows(graph), graph);
  for (const docid_t source : graph.sources) ++graph.out_degrees[source];
  return graph;
}

std::vector<docid_t> row_runs(const InLinks& graph) {
  constexpr std::uint64_t run_cost = 1 << 15;
  std::vector<docid_t> runs = {0};
  std::uint64_t cost = 0;
  for (docid_t document = 0; document < graph.documents(); ++document) {
    cost += 1 + graph.begins[document + std::size_t{1}] - graph.begins[document];
    if (cost < run_cost) continue;
    runs.push_back(document + 1);
    cost = 0;
  }
  if (runs.back() != graph.documents()) runs.push_back(graph.documents());
  return runs;
}

}  // namespace quern
