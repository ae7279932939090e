#include "quern/order/page_graph.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <mutex>

#include "quern/core/error.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/core/size_text.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {

namespace {

/// Bytes per document: of the graph (begin, degree, length of the row) and of PageRank (rank, share).
constexpr std::uint64_t ranking_bytes = 8 + 4 + 4 + 8 + 8;

void check_memory(std::uint64_t edges, docid_t documents, const Resources& resources) {
  const std::uint64_t needed = edges * sizeof(docid_t) + (documents + std::uint64_t{1}) * ranking_bytes;
  if (needed > resources.memory_bytes)
    throw InvalidArgument(
        fmt::format("PageRank of {} documents with {} links needs {} of memory, but --memory allows "
                    "{}; raise it",
                    documents, edges, size_text(needed), size_text(resources.memory_bytes)));
}

/// Puts each edge's source into its target's row, in the order of the edges.
void scatter(const EdgeSpool& edges, InLinks& graph) {
  std::vector<std::uint64_t>& begins = graph.begins;
  edges.for_each([&](LinkEdge edge) { ++begins[edge.to + std::size_t{1}]; });
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  graph.sources.resize(edges.count());
  edges.for_each([&](LinkEdge edge) { graph.sources[begins[edge.to]++] = edge.from; });
  // Each begin has moved to the end of its row, where the next row begins.
  std::copy_backward(begins.begin(), begins.end() - 1, begins.end());
  begins[0] = 0;
}

/// Sorts each row and moves its distinct sources to its front; returns their numbers.
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

/// Removes the gaps between the rows' fronts.
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
  return run_stage(resources, [&]() -> InLinks {
    check_memory(edges.count(), documents, resources);
    InLinks graph;
    graph.begins.resize(documents + std::size_t{1});
    graph.out_degrees.resize(documents);
    scatter(edges, graph);
    close_gaps(sort_rows(graph), graph);
    for (const docid_t source : graph.sources) ++graph.out_degrees[source];
    return graph;
  });
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

namespace {

/// A page's links are distinct already, those of a file need not be.
ReadGraph make_graph(const EdgeSpool& edges, docid_t documents, LinkCounts counts, std::string file_hash,
                     const Resources& resources) {
  ReadGraph read{make_in_links(edges, documents, resources), counts, std::move(file_hash)};
  read.counts.edges = read.graph.edges();
  read.counts.duplicates += edges.count() - read.graph.edges();
  return read;
}

/// Spools the edges of a link file. number(name) is the document with that name, end_docid if there is none.
template <class Number>
LinkCounts spool_links(ByteSource& source, Number&& number, EdgeSpool& edges, const Resources& resources) {
  constexpr std::uint64_t progress_lines = 1 << 16;
  LinkCounts counts;
  std::string last_name;
  docid_t last = end_docid;
  resources.progress->start("links", 0, "links");
  read_links(source, [&](std::string_view from_name, std::string_view to_name) {
    // Most files list a page's links one after another.
    if (counts.links == 0 || from_name != last_name) {
      last_name = from_name;
      last = number(from_name);
    }
    if (++counts.links % progress_lines == 0) resources.progress->add(progress_lines);
    const docid_t to = number(to_name);
    if (last == end_docid || to == end_docid) {
      ++counts.unknown;
    } else if (last == to) {
      ++counts.self;
    } else {
      edges.add({last, to});
    }
  });
  resources.progress->finish();
  return counts;
}

}  // namespace

ReadGraph graph_of_collection(const CollectionReader& collection, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    check_free_space(resources.tmp_folder, collection.manifest().links * sizeof(LinkEdge), "the collection's links");
    EdgeSpool edges(resources.tmp_folder);
    LinkCounts counts;
    resources.progress->start("links", collection.num_documents(), "documents");
    {
      const PageUrls urls(collection, resources);
      std::mutex spooling;
      tbb::enumerable_thread_specific<ChunkBuffers> buffers;
      tbb::parallel_for(std::size_t{0}, collection.num_chunks(), [&](std::size_t chunk) {
        std::vector<LinkEdge> of_chunk;
        const auto keep = [&](docid_t document, std::span<const docid_t> targets) {
          for (const docid_t target : targets) of_chunk.push_back({document, target});
        };
        const LinkCounts met = for_each_page_links(collection, chunk, urls, buffers.local(), keep);
        const std::lock_guard lock(spooling);
        for (const LinkEdge edge : of_chunk) edges.add(edge);
        counts += met;
        resources.progress->add(collection.chunk(chunk).documents);
      });
    }
    resources.progress->finish();
    return make_graph(edges, collection.num_documents(), counts, {}, resources);
  });
}

ReadGraph graph_of_link_file(const std::string& path, const CollectionReader& collection, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    EdgeSpool edges(resources.tmp_folder);
    HashingSource source(ByteSource::open(path));
    LinkCounts counts;
    {
      const NamedDocuments names(collection, resources);
      counts = spool_links(
          source, [&](std::string_view name) { return names.find(name); }, edges, resources);
    }
    return make_graph(edges, collection.num_documents(), counts, hash_text(source.hash()), resources);
  });
}

ReadGraph graph_of_link_file(const std::string& path, docid_t documents, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    EdgeSpool edges(resources.tmp_folder);
    HashingSource source(ByteSource::open(path));
    LinkCounts counts;
    {
      NameTable names(documents);
      const auto number = [&](std::string_view name) {
        const std::uint64_t max_names =
            std::min<std::uint64_t>(resources.memory_bytes / NameTable::growing_name_bytes, end_docid);
        if (names.size() + 1 >= max_names)
          throw InvalidArgument(fmt::format("{}: has more than {} names, the most that fit in --memory; raise it",
                                            source.name(), max_names));
        return names.add(name, static_cast<docid_t>(names.size()));
      };
      counts = spool_links(source, number, edges, resources);
      documents = std::max(documents, static_cast<docid_t>(names.size()));
    }
    return make_graph(edges, documents, counts, hash_text(source.hash()), resources);
  });
}

}  // namespace quern
