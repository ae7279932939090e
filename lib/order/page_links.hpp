#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/page_names.hpp"

namespace quern {

/// Links by kind: each of `links` is counted in one of the other counters.
struct LinkCounts {
  std::uint64_t links = 0;  ///< anchors of a collection's pages, or lines of a link file
  std::uint64_t edges = 0;  ///< distinct links from one document to another
  std::uint64_t self = 0;
  std::uint64_t leaving = 0;  ///< distinct links of a page to URLs outside the collection
  std::uint64_t unknown = 0;  ///< lines of a link file with an unknown name
  std::uint64_t duplicates = 0;

  LinkCounts& operator+=(const LinkCounts& other);
};

/// Calls visit(document, targets) for each document that begins in the chunk and links to others: in order, with its
/// distinct targets, rising, without itself and documents with the same URL. URLs are compared as page_url() normalizes
/// them.
LinkCounts for_each_page_links(const CollectionReader& collection, std::size_t chunk, const PageUrls& urls,
                               ChunkBuffers& buffers,
                               const std::function<void(docid_t, std::span<const docid_t>)>& visit);

/// Calls visit(from, to) for each distinct link between the collection's documents, in their order, with their URLs as
/// the collection stores them, or the docno of a page without a URL. Returns the counts. Keeps all URLs in memory:
/// throws InvalidArgument if the budget is too small.
LinkCounts list_links(const CollectionReader& collection, const Resources& resources,
                      const std::function<void(std::string_view, std::string_view)>& visit);

}  // namespace quern
