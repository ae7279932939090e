#pragma once
#include <functional>
#include <string_view>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

/// Calls visit(from, to) for each distinct link between the collection's documents, in their order, with their own URLs
/// as the collection has them; a page without a URL is called by its docno. Returns the counts. Holds all URLs: throws
/// InvalidArgument where the memory budget has no room for them.
LinkCounts list_links(const CollectionReader& collection, const Resources& resources,
                      const std::function<void(std::string_view, std::string_view)>& visit);

}  // namespace quern
