#include "quern/order/in_links.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "quern/formats/tables/document_tables.hpp"
#include "quern/io/byte_source.hpp"
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

/// A page's links are already distinct; those of a file may not be.
ReadGraph make_graph(const std::string& name, const EdgeSpool& edges, docid_t documents, LinkCounts counts,
                     std::string file_hash, const Resources& resources) {
  ReadGraph read{make_page_graph(name, edges, documents, resources), documents, counts, std::move(file_hash)};
  read.counts.edges = std::visit([](const auto& graph) { return graph.edges(); }, read.graph);
  read.counts.duplicates += edges.count() - read.counts.edges;
  return read;
}

/// Calls visit(from, to) with the names in each line of a link file; returns the number of lines.
template <class Visit>
std::uint64_t for_each_line(ByteSource& source, const Resources& resources, Visit&& visit) {
  constexpr std::uint64_t progress_lines = 1 << 16;
  std::uint64_t lines = 0;
  resources.progress->start("read links", 0, "links");
  read_pairs(source, "from<TAB>to", [&](std::string_view from, std::string_view to, std::uint64_t) {
    visit(from, to);
    if (++lines % progress_lines == 0) resources.progress->add(progress_lines);
  });
  resources.progress->finish();
  return lines;
}

/// Counts a line of a link file, and spools its edge if it has one.
void take_line(docid_t from, docid_t to, LinkCounts& counts, EdgeSpool& edges) {
  if (from == end_docid || to == end_docid)
    ++counts.unknown;
  else if (from == to)
    ++counts.self;
  else
    edges.add({from, to});
}

/// Caches the lookup of the last name, since most files list a page's links consecutively.
template <class Found>
class LastName {
 public:
  /// find(name) is called for a new name.
  template <class Find>
  const Found& operator()(std::string_view name, Find&& find) {
    if (!is_set_ || name != name_) {
      name_ = name;
      found_ = find(name);
      is_set_ = true;
    }
    return found_;
  }

 private:
  bool is_set_ = false;
  std::string name_;
  Found found_;
};

/// Spools the edges of a link file. number(name) is the document with that name, end_docid if there is none.
template <class Number>
LinkCounts look_up_links(ByteSource& source, Number&& number, EdgeSpool& edges, const Resources& resources) {
  LinkCounts counts;
  LastName<docid_t> last;
  counts.links = for_each_line(source, resources, [&](std::string_view from_name, std::string_view to_name) {
    const docid_t from = last(from_name, number);
    take_line(from, number(to_name), counts, edges);
  });
  return counts;
}

/// As above by sorting, for documents whose names do not fit in memory: first finds the lines' sources, then their
/// targets.
LinkCounts join_links(ByteSource& source, const CollectionReader& collection, EdgeSpool& edges,
                      const Resources& resources) {
  LinkCounts counts;
  NamedJoin<std::uint64_t> targets(collection, resources, resources.memory_bytes / 2);
  NamedJoin<NameHashes> sources(collection, resources, resources.memory_bytes / 2);
  LastName<NameHashes> last;
  counts.links = for_each_line(source, resources, [&](std::string_view from, std::string_view to) {
    sources.ask(last(from, NameHashes::from_name), NameHashes::from_name(to));
  });
  sources.answer([&](docid_t from, const NameHashes& to) {
    if (from == end_docid) {
      ++counts.unknown;
    } else {
      targets.ask(to, from);
    }
  });
  targets.answer([&](docid_t to, std::uint64_t from) { take_line(static_cast<docid_t>(from), to, counts, edges); });
  return counts;
}

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

ReadGraph graph_of_collection(const CollectionReader& collection, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    EdgeSpool edges(resources.tmp_folder);
    const LinkCounts counts = spool_page_links(collection, resources, edges);
    return make_graph(collection.name(), edges, collection.num_documents(), counts, {}, resources);
  });
}

ReadGraph graph_of_link_file(const std::string& path, const CollectionReader& collection, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    EdgeSpool edges(resources.tmp_folder);
    HashingSource source(ByteSource::open(path, resources));
    LinkCounts counts;
    if (NamedDocuments::table_bytes(collection) <= resources.memory_bytes) {
      const NamedDocuments names(collection);
      counts = look_up_links(
          source, [&](std::string_view name) { return names.find(name); }, edges, resources);
    } else {
      counts = join_links(source, collection, edges, resources);
    }
    return make_graph(collection.name(), edges, collection.num_documents(), counts, hash_text(source.hash()),
                      resources);
  });
}

ReadGraph graph_of_link_file(const std::string& path, docid_t documents, const Resources& resources) {
  return run_stage(resources, [&]() -> ReadGraph {
    EdgeSpool edges(resources.tmp_folder);
    HashingSource source(ByteSource::open(path, resources));
    LinkCounts counts;
    {
      NameTable names(documents);
      const auto number = [&](std::string_view name) {
        const std::uint64_t max_names =
            std::min<std::uint64_t>(resources.memory_bytes / NameTable::growing_name_bytes, end_docid);
        if (names.size() + 1 >= max_names)
          throw InvalidArgument("{}: has more than {} names, the maximum that fits in {}; raise it", source.name(),
                                max_names, option_name<"memory">);
        return names.add(name, static_cast<docid_t>(names.size()));
      };
      counts = look_up_links(source, number, edges, resources);
      documents = std::max(documents, static_cast<docid_t>(names.size()));
    }
    return make_graph(source.name(), edges, documents, counts, hash_text(source.hash()), resources);
  });
}

}  // namespace quern
