#include "quern/order/page_names.hpp"

#include <algorithm>
#include <bit>

#include "quern/core/bytes.hpp"
#include "quern/text/url.hpp"

namespace quern {

namespace {

constexpr std::size_t min_slots = 1024;

}  // namespace

NameTable::NameTable(std::size_t expected_names) {
  entries_.reserve(expected_names);
  rehash(std::max(min_slots, std::bit_ceil(2 * expected_names)));
}

Hash128 NameTable::hash_of(std::string_view name) { return xxh3_128(as_bytes(name)); }

std::size_t NameTable::slot_of(const Hash128& hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash.low & mask;
  while (slots_[at] != 0 && entries_[slots_[at] - 1].hash != hash) at = (at + 1) & mask;
  return at;
}

docid_t NameTable::add(std::string_view name, docid_t number) {
  const Hash128 hash = hash_of(name);
  std::size_t slot = slot_of(hash);
  if (slots_[slot] != 0) return entries_[slots_[slot] - 1].number;
  if (2 * (entries_.size() + 1) > slots_.size()) {
    rehash(2 * slots_.size());
    slot = slot_of(hash);
  }
  entries_.push_back({hash, number});
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return number;
}

docid_t NameTable::find(const Hash128& hash) const {
  const std::uint32_t entry = slots_[slot_of(hash)];
  return entry == 0 ? end_docid : entries_[entry - 1].number;
}

void NameTable::rehash(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    slots_[slot_of(entries_[i].hash)] = static_cast<std::uint32_t>(i + 1);
}

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

}  // namespace

std::uint64_t PageUrls::table_bytes(const CollectionReader& collection) {
  return collection.num_documents() * (NameTable::name_bytes + sizeof(docid_t));
}

PageUrls::PageUrls(const CollectionReader& collection)
    : urls_(collection.num_documents()), firsts_(collection.num_documents()) {
  for_each_document(collection, [&](docid_t document, const DocumentRow& row) {
    firsts_[document] = row.url.empty() ? document : urls_.add(page_url(row.url), document);
  });
}

NameHashes NameHashes::of(std::string_view name) {
  return {NameTable::hash_of(name), NameTable::hash_of(page_url(name))};
}

std::uint64_t NamedDocuments::table_bytes(const CollectionReader& collection) {
  return collection.num_documents() * NameTable::name_bytes + PageUrls::table_bytes(collection);
}

NamedDocuments::NamedDocuments(const CollectionReader& collection)
    : docnos_(collection.num_documents()), urls_(collection) {
  for_each_document(collection, [&](docid_t document, const DocumentRow& row) { docnos_.add(row.docno, document); });
}

docid_t NamedDocuments::find(std::string_view name) const {
  const docid_t document = docnos_.find(name);
  return document != end_docid ? document : urls_.find(NameTable::hash_of(page_url(name)));
}

}  // namespace quern
