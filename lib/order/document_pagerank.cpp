#include "quern/order/document_pagerank.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/run_stage.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/order/order.hpp"
#include "quern/order/page_graph.hpp"
#include "quern/order/page_names.hpp"
#include "quern/order/pagerank.hpp"

namespace quern {
namespace {

DocumentPagerank pagerank_of_graph(const ReadGraph& read, PagerankSource source, const Resources& resources) {
  const Pagerank computed = compute_pagerank(read.graph, {}, resources);
  DocumentPagerank pagerank;
  pagerank.ranks.assign(computed.ranks.begin(), computed.ranks.end());
  PagerankReport& report = pagerank.report;
  report.origin = {source, read.file_hash};
  report.links = read.counts;
  report.dangling =
      static_cast<std::uint64_t>(std::count(read.graph.out_degrees.begin(), read.graph.out_degrees.end(), 0u));
  report.iterations = computed.iterations;
  report.last_change = computed.last_change;
  report.converged = computed.converged;
  return pagerank;
}

/// PageRank from the collection's own links; the same for all documents if no link is between two of them.
DocumentPagerank pagerank_of_links(const CollectionReader& collection, const Resources& resources) {
  DocumentPagerank uniform;
  if (collection.manifest().links > 0) {
    const ReadGraph read = graph_of_collection(collection, resources);
    if (read.graph.edges() > 0) return pagerank_of_graph(read, PagerankSource::links, resources);
    uniform.report.links = read.counts;
  }
  uniform.report.origin.source = PagerankSource::uniform;
  uniform.ranks.assign(collection.num_documents(), 1.0f);
  return uniform;
}

DocumentPagerank pagerank_of_score_file(const std::string& path, const CollectionReader& collection,
                                        const Resources& resources) {
  constexpr float no_score = -1;
  const NamedDocuments names(collection, resources);
  HashingSource source(ByteSource::open(path));
  DocumentPagerank pagerank;
  PagerankReport& report = pagerank.report;
  pagerank.ranks.assign(collection.num_documents(), no_score);
  read_scores(source, [&](const ScoreLine& line) {
    const docid_t document = names.find(line.document);
    if (document == end_docid) {
      ++report.unknown;
    } else if (pagerank.ranks[document] != no_score) {
      fail_at_line(source.name(), line.number,
                   fmt::format("the document '{}' already has a score; leave one line per document", line.document));
    } else {
      ++report.scores;
      pagerank.ranks[document] = line.score;
    }
  });
  report.missing = pagerank.ranks.size() - report.scores;
  std::replace(pagerank.ranks.begin(), pagerank.ranks.end(), no_score, 0.0f);
  report.origin = {PagerankSource::score_file, hash_text(source.hash())};
  return pagerank;
}

DocumentPagerank pagerank_of(const CollectionReader& collection, const PagerankInput& input,
                             const Resources& resources) {
  switch (input.from) {
    case PagerankFrom::if_needed:
    case PagerankFrom::nothing:
      return {};
    case PagerankFrom::links:
      return pagerank_of_links(collection, resources);
    case PagerankFrom::link_file:
      return pagerank_of_graph(graph_of_link_file(input.file, collection, resources), PagerankSource::link_file,
                               resources);
    case PagerankFrom::score_file:
      return pagerank_of_score_file(input.file, collection, resources);
  }
  return {};
}

}  // namespace

DocumentPagerank document_pagerank(const CollectionReader& collection, const PagerankInput& input,
                                   const Resources& resources) {
  return run_stage(resources, [&]() -> DocumentPagerank {
    DocumentPagerank pagerank = pagerank_of(collection, input, resources);
    const auto differ = std::adjacent_find(pagerank.ranks.begin(), pagerank.ranks.end(), std::not_equal_to<>());
    pagerank.report.all_the_same = !pagerank.ranks.empty() && differ == pagerank.ranks.end();
    return pagerank;
  });
}

}  // namespace quern
