#pragma once
#include <cstdlib>
#include <memory>
#include <vector>

#include "quern/index/build_index.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/order/order.hpp"

#include "formats/container_writing.hpp"

/// Runs the stages on damaged collections with recomputed checksums. Each function throws a library error or produces
/// valid files; aborts if readers refuse these.
namespace quern::testing {

inline void require_permutation(const DocumentOrder& order, std::size_t documents) {
  std::vector<bool> met(documents);
  if (order.documents.size() != documents) std::abort();
  for (const docid_t document : order.documents) {
    if (document >= documents || met[document]) std::abort();
    met[document] = true;
  }
}

/// An order of the collection, checked to survive writing and reading.
inline DocumentOrder order_of(const CollectionReader& collection, const OrderOptions& options,
                              const Resources& resources) {
  DocumentOrder order = make_order(collection, options, {}, resources);
  require_permutation(order, collection.num_documents());
  File file = File::anonymous(resources.tmp_folder);
  write_order(file, order, options, collection);
  const OrderReader reader(ContainerReader(shared(std::move(file)), FileKind::order));
  reader.container().verify(resources);
  reader.check_belongs_to(collection);
  const DocumentOrder read = reader.load();
  if (read.documents != order.documents || read.pagerank != order.pagerank || read.global_scores != order.global_scores)
    std::abort();
  return order;
}

/// An index of the collection. With `is_sound`, it must pass verify.
inline IndexReader index_of(const CollectionReader& collection, const DocumentOrder& order,
                            const OrderOptions& order_options, const BuildOptions& options, const Resources& resources,
                            bool is_sound) {
  File file = File::anonymous(resources.tmp_folder);
  build_index(collection, order, order_options, options, resources, file);
  IndexReader index(ContainerReader(shared(std::move(file)), FileKind::index));
  index.container().verify(resources);
  if (is_sound) verify_index(index, resources);
  return index;
}

}  // namespace quern::testing
