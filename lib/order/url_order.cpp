#include "quern/core/bytes.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/order/orders.hpp"
#include "quern/text/url.hpp"

namespace quern {
namespace {

class UrlOrder : public OrderMethod {
 public:
  std::string_view name() const override { return "url"; }
  std::string_view description() const override { return "by reversed host, then path; documents without a URL last"; }

  /// Silvestri: Sorting Out the Document Identifier Assignment Problem (ECIR 2007).
  DocumentOrder compute(const OrderInput& input) const override {
    check_order_memory(input.collection.num_documents(), permutation_bytes, input.resources);
    const CollectionReader& collection = input.collection;
    const Resources& resources = input.resources;
    resources.progress->start("order by URL", collection.num_documents(), "documents");
    ExternalSort keys(resources.tmp_folder, resources.memory_bytes / 2);
    std::vector<docid_t> without_url;
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
      docid_t document = collection.first_document(chunk);
      for (const DocumentRow& row : collection.documents(chunk, buffers)) {
        if (row.url.empty()) {
          without_url.push_back(document);
        } else {
          keys.add(url_order_key(row.url), {reinterpret_cast<const std::uint8_t*>(&document), sizeof document});
        }
        ++document;
      }
      resources.progress->add(collection.chunk(chunk).documents);
    }
    DocumentOrder order;
    order.documents.reserve(collection.num_documents());
    keys.merge(
        [&](std::string_view, ByteView payload) { order.documents.push_back(load_le<docid_t>(payload.data())); });
    order.documents.insert(order.documents.end(), without_url.begin(), without_url.end());
    resources.progress->finish();
    return order;
  }
};

}  // namespace

const OrderMethod& url_order() {
  static const UrlOrder order;
  return order;
}

}  // namespace quern
