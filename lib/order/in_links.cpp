#include "quern/order/in_links.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "quern/core/run_stage.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/order/order.hpp"

namespace quern {

namespace {

/// Bytes per document of PageRank and a graph whose rows are in a work file: rank, share, number of links.
constexpr std::uint64_t pagerank_bytes = 8 + 8 + 4;
/// Bytes per row in memory: its start, and its length during construction.
constexpr std::uint64_t row_bytes = 8 + 4;
/// Cost, by edges and rows, at which a run of rows ends.
constexpr std::uint64_t run_cost = 1 << 15;

bool fits_in_memory(std::uint64_t edges, docid_t documents, const Resources& resources) {
  return edges * sizeof(docid_t) + (documents + std::uint64_t{1}) * (pagerank_bytes + row_bytes) <=
         resources.memory_bytes;
}

/// Appends each edge's source to its target's row, in the order of the edges.
void scatter(const EdgeSpool& edges, InLinks& graph) {
  std::vector<std::uint64_t>& begins = graph.begins;
  edges.for_each([&](LinkEdge edge) { ++begins[edge.to + std::size_t{1}]; });
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  graph.sources.resize(edges.count());
  edges.for_each([&](LinkEdge edge) { graph.sources[begins[edge.to]++] = edge.from; });
  // Each start has moved to the end of its row, the start of the next.
  std::copy_backward(begins.begin(), begins.end() - 1, begins.end());
  begins[0] = 0;
}

/// Sorts each row and moves its distinct sources to its front; returns the new lengths.
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

/// Removes the gaps between the shortened rows.
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

/// Writes rows one after another.
class RowWriter {
 public:
  explicit RowWriter(SpooledInLinks& graph) : graph_(graph) {
    graph.runs = {0};
    graph.run_begins = {0};
  }

  /// Adds a link to the current document, or to a later one after ending the rows before it.
  void add(docid_t to, docid_t from) {
    while (document_ < to) end_row();
    graph_.rows.add(from);
    ++cost_;
    ++graph_.out_degrees[from];
  }

  void finish() {
    while (document_ < graph_.documents()) end_row();
    if (graph_.runs.back() != document_) end_run();
  }

 private:
  void end_row() {
    graph_.rows.add(end_docid);
    ++document_;
    if (++cost_ >= run_cost) end_run();
  }
  void end_run() {
    graph_.runs.push_back(document_);
    graph_.run_begins.push_back(graph_.rows.count());
    cost_ = 0;
  }

  SpooledInLinks& graph_;
  docid_t document_ = 0;
  std::uint64_t cost_ = 0;  ///< rows and edges of the current run, as row_runs() counts them
};

}  // namespace

InLinks make_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources) {
  return run_stage(resources, [&]() -> InLinks {
    InLinks graph;
    graph.begins.resize(documents + std::size_t{1});
    graph.out_degrees.resize(documents);
    scatter(edges, graph);
    close_gaps(sort_rows(graph), graph);
    for (const docid_t source : graph.sources) ++graph.out_degrees[source];
    return graph;
  });
}

SpooledInLinks spool_in_links(const EdgeSpool& edges, docid_t documents, const Resources& resources) {
  return run_stage(resources, [&]() -> SpooledInLinks {
    SpooledInLinks graph{RecordSpool<docid_t>(resources.tmp_folder), {}, {}, std::vector<std::uint32_t>(documents)};
    ExternalSort rows(resources.tmp_folder, resources.memory_bytes / 2);
    edges.for_each([&](LinkEdge edge) { rows.add(SortKey(edge.to, edge.from).view(), {}); });
    RowWriter writer(graph);
    std::string before;
    rows.merge([&](std::string_view key, ByteView) {
      if (key == before) return;
      before = key;
      writer.add(number_in_key<docid_t>(key, 0), number_in_key<docid_t>(key, sizeof(docid_t)));
    });
    writer.finish();
    return graph;
  });
}

PageGraph make_page_graph(const std::string& name, const EdgeSpool& edges, docid_t documents,
                          const Resources& resources) {
  check_pagerank_memory(name, documents, resources);
  if (fits_in_memory(edges.count(), documents, resources)) return make_in_links(edges, documents, resources);
  return spool_in_links(edges, documents, resources);
}

void check_pagerank_memory(const std::string& name, std::uint64_t documents, const Resources& resources) {
  check_order_memory(fmt::format("{}: PageRank of {} documents", name, documents), documents * pagerank_bytes,
                     resources);
}

std::vector<docid_t> row_runs(const InLinks& graph) {
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
