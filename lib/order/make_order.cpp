#include "quern/order/make_order.hpp"

#include <algorithm>

#include "quern/order/pagerank_scale.hpp"

namespace quern {

DocumentOrder make_order(const CollectionReader& collection, const OrderOptions& options, const PagerankFiles& files,
                         const Resources& resources, PagerankReport* report) {
  const OrderMethod& method = order_named(options.by);
  DocumentPagerank pagerank = document_pagerank(collection, files, method.needs_pagerank(), resources);
  if (!pagerank.ranks.empty()) pagerank_scale_named(options.scores.pagerank_scale).apply(pagerank.ranks);
  if (report != nullptr) *report = pagerank.report;
  DocumentOrder order = method.compute({collection, options, pagerank.ranks, resources});
  order.pagerank_origin = pagerank.report.origin;
  order.pagerank.resize(pagerank.ranks.size());
  if (!pagerank.ranks.empty())
    std::transform(order.documents.begin(), order.documents.end(), order.pagerank.begin(),
                   [&](docid_t document) { return pagerank.ranks[document]; });
  return order;
}

}  // namespace quern
