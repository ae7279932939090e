#pragma once
#include "quern/formats/collection.hpp"
#include "quern/io/spool.hpp"

/// The links between a collection's documents.
namespace quern {

struct LinkEdge {
  docid_t from, to;
};

/// Edges on their way into a graph: on disk, since memory holds them only once.
using EdgeSpool = RecordSpool<LinkEdge>;

/// Links by kind: each of `links` is counted in one of the other counters.
struct LinkCounts {
  std::uint64_t links = 0;  ///< anchors of a collection's pages, or lines of a link file
  std::uint64_t edges = 0;  ///< distinct links from one document to another
  std::uint64_t self = 0;
  std::uint64_t leaving = 0;  ///< distinct links of a page to URLs outside the collection
  std::uint64_t unknown = 0;  ///< lines of a link file with an unknown name
  std::uint64_t duplicates = 0;

  LinkCounts& operator+=(const LinkCounts& other);
  bool operator==(const LinkCounts&) const = default;
};

/// Adds the distinct links between the collection's documents to `edges`, in any order, except links of a document to
/// itself or to its own URL. URLs are compared in page_url() form; of documents that share a URL, the first has it.
/// Looks documents up in a table if it fits in the memory budget, otherwise sorts links and documents.
LinkCounts spool_page_links(const CollectionReader& collection, const Resources& resources, EdgeSpool& edges);

/// The two implementations of spool_page_links(), for any memory budget.
LinkCounts look_up_page_links(const CollectionReader& collection, const Resources& resources, EdgeSpool& edges);
LinkCounts join_page_links(const CollectionReader& collection, const Resources& resources, EdgeSpool& edges);

/// Calls visit(from, to) for each distinct link between the collection's documents, in document order, with their URLs
/// as stored in the collection, or the docno of a page without a URL. Returns the counts.
LinkCounts list_links(const CollectionReader& collection, const Resources& resources,
                      const std::function<void(std::string_view, std::string_view)>& visit);

}  // namespace quern
