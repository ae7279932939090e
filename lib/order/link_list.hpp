#pragma once
#include <functional>
#include <string_view>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/page_links.hpp"

namespace quern {

/// Calls visit(from, to) for each distinct link between the collection's documents, in their order, with their URLs as
/// the collection stores them, or the docno of a page without a URL. Returns the counts.
LinkCounts list_links(const CollectionReader& collection, const Resources& resources,
                      const std::function<void(std::string_view, std::string_view)>& visit);

}  // namespace quern
