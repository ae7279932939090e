#include "quern/order/document_pagerank.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <variant>

#include "quern/core/option_name.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/order/in_links.hpp"
#include "quern/order/order.hpp"
#include "quern/order/page_names.hpp"
#include "quern/order/pagerank.hpp"

namespace quern {
namespace {

const std::vector<std::uint32_t>& out_degrees(const PageGraph& graph) {
  return std::visit([](const auto& kind) -> const std::vector<std::uint32_t>& { return kind.out_degrees; }, graph);
}

DocumentPagerank pagerank_of_graph(const ReadGraph& read, PagerankSource source, const Resources& resources) {
  const Pagerank computed = compute_pagerank(read.graph, {}, resources);
  DocumentPagerank pagerank;
  pagerank.ranks.assign(computed.ranks.begin(), computed.ranks.end());
  PagerankReport& report = pagerank.report;
  report.origin = {source, read.file_hash};
  report.links = read.counts;
  const std::vector<std::uint32_t>& degrees = out_degrees(read.graph);
  report.dangling = static_cast<std::uint64_t>(std::count(degrees.begin(), degrees.end(), 0u));
  report.iterations = computed.iterations;
  report.last_change = computed.last_change;
  report.converged = computed.converged;
  return pagerank;
}

/// PageRank from the collection's own links; equal for all documents if there is no link between two of them.
DocumentPagerank pagerank_of_links(const CollectionReader& collection, const Resources& resources) {
  DocumentPagerank uniform;
  if (collection.manifest().links > 0) {
    const ReadGraph read = graph_of_collection(collection, resources);
    if (read.counts.edges > 0) return pagerank_of_graph(read, PagerankSource::links, resources);
    uniform.report.links = read.counts;
  }
  uniform.report.origin.source = PagerankSource::uniform;
  uniform.ranks.assign(collection.num_documents(), 1.0f);
  return uniform;
}

constexpr float no_score = -1;

[[noreturn]] void fail_at_second_score(const ByteSource& source, std::uint64_t line) {
  fail_at_line(source.name(), line, "its document already has a score; keep one line per document");
}

/// Fills `ranks` with the scores of a file; returns the number of lines whose document is not in the collection.
std::uint64_t look_up_scores(ByteSource& source, const CollectionReader& collection, std::vector<float>& ranks) {
  const NamedDocuments names(collection);
  std::uint64_t unknown = 0;
  read_scores(source, [&](const ScoreLine& line) {
    const docid_t document = names.find(line.document);
    if (document == end_docid)
      ++unknown;
    else if (ranks[document] != no_score)
      fail_at_second_score(source, line.number);
    else
      ranks[document] = line.score;
  });
  return unknown;
}

/// As above by sorting, for documents whose names do not fit in memory: first finds the lines' documents, then the
/// scores of each document.
std::uint64_t join_scores(ByteSource& source, const CollectionReader& collection, const Resources& resources,
                          std::vector<float>& ranks) {
  struct AskedLine {
    std::uint64_t number;
    std::uint64_t score_bits;
  };
  NamedJoin<AskedLine> lines(collection, resources, resources.memory_bytes / 2);
  read_scores(source, [&](const ScoreLine& line) {
    lines.ask(NameHashes::from_name(line.document), {line.number, std::bit_cast<std::uint32_t>(line.score)});
  });
  std::uint64_t unknown = 0;
  ExternalSort found(resources.tmp_folder, resources.memory_bytes / 2);
  lines.answer([&](docid_t document, const AskedLine& line) {
    if (document == end_docid)
      ++unknown;
    else
      found.add(SortKey(document, line.number, static_cast<std::uint32_t>(line.score_bits)).view(), {});
  });
  std::optional<std::uint64_t> repeated_line;
  found.merge([&](std::string_view row, ByteView) {
    float& rank = ranks[number_in_key<docid_t>(row, 0)];
    const auto line = number_in_key<std::uint64_t>(row, sizeof(docid_t));
    const auto bits = number_in_key<std::uint32_t>(row, sizeof(docid_t) + sizeof line);
    if (rank == no_score)
      rank = std::bit_cast<float>(bits);
    else
      repeated_line = std::min(repeated_line.value_or(line), line);
  });
  if (repeated_line) fail_at_second_score(source, *repeated_line);
  return unknown;
}

DocumentPagerank pagerank_of_score_file(const std::string& path, const CollectionReader& collection,
                                        const Resources& resources) {
  HashingSource source(ByteSource::open(path, resources));
  DocumentPagerank pagerank;
  std::vector<float>& ranks = pagerank.ranks;
  PagerankReport& report = pagerank.report;
  ranks.assign(collection.num_documents(), no_score);
  const bool fits = NamedDocuments::table_bytes(collection) + ranks.size() * sizeof(float) <= resources.memory_bytes;
  report.unknown = fits ? look_up_scores(source, collection, ranks) : join_scores(source, collection, resources, ranks);
  report.missing = static_cast<std::uint64_t>(std::count(ranks.begin(), ranks.end(), no_score));
  report.scores = ranks.size() - report.missing;
  std::replace(ranks.begin(), ranks.end(), no_score, 0.0f);
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

PagerankInput pagerank_input(const std::string& pagerank, const std::string& links) {
  if (!links.empty()) {
    if (!pagerank.empty() && pagerank != "links")
      throw InvalidArgument(std::string(option_name<"links">) + ": already implies " + option_name<"pagerank"> +
                            " links; omit " + option_name<"pagerank"> + " " + pagerank);
    return {PagerankFrom::link_file, links};
  }
  if (pagerank.empty()) return {};
  if (pagerank == "none") return {PagerankFrom::nothing, {}};
  if (pagerank == "links") return {PagerankFrom::links, {}};
  return {PagerankFrom::score_file, pagerank};
}

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
