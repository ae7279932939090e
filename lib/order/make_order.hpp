#pragma once
#include "quern/order/document_pagerank.hpp"
#include "quern/order/order.hpp"

namespace quern {

/// The order that `options` ask for, with the documents' PageRank by docID where links between the collection's pages
/// or a file give it, and where the order needs it. `report` learns where PageRank came from.
DocumentOrder make_order(const CollectionReader& collection, const OrderOptions& options, const PagerankFiles& files,
                         const Resources& resources, PagerankReport* report = nullptr);

}  // namespace quern
