#include "quern/order/page_names.hpp"

#include "quern/order/order.hpp"
#include "quern/text/url.hpp"

namespace quern {
namespace {

/// Calls visit(document, row) for all documents.
template <class Visit>
void for_each_document(const CollectionReader& collection, Visit&& visit) {
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    docid_t document = collection.first_document(chunk);
    for (const DocumentRow& row : collection.documents(chunk, buffers)) visit(document++, row);
  }
}

/// Throws where tables of `names` names a document do not fit.
std::size_t checked_names(const CollectionReader& collection, std::uint64_t names, const Resources& resources) {
  check_order_memory(collection.num_documents(), names * NameTable::name_bytes + sizeof(docid_t), resources);
  return collection.num_documents();
}

}  // namespace

PageUrls::PageUrls(const CollectionReader& collection, const Resources& resources)
    : urls_(checked_names(collection, 1, resources)), firsts_(collection.num_documents()) {
  for_each_document(collection, [&](docid_t document, const DocumentRow& row) {
    firsts_[document] = row.url.empty() ? document : urls_.add(page_url(row.url), document);
  });
}

NamedDocuments::NamedDocuments(const CollectionReader& collection, const Resources& resources)
    : docnos_(checked_names(collection, 2, resources)), urls_(collection, resources) {
  for_each_document(collection, [&](docid_t document, const DocumentRow& row) { docnos_.add(row.docno, document); });
}

docid_t NamedDocuments::find(std::string_view name) const {
  const docid_t document = docnos_.find(name);
  return document != end_docid ? document : urls_.find(NameTable::hash_of(page_url(name)));
}

}  // namespace quern
