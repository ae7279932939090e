#include "quern/order/page_names.hpp"

#include <bit>

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

docid_t NameTable::add(const Hash128& hash, docid_t number) {
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

std::uint64_t PageUrls::table_bytes(const CollectionReader& collection) {
  return collection.num_documents() * (NameTable::name_bytes + sizeof(docid_t));
}

PageUrls::PageUrls(const CollectionReader& collection, std::size_t chunks_at_once)
    : urls_(collection.num_documents()), firsts_(collection.num_documents()) {
  map_documents(
      collection, chunks_at_once,
      [](const DocumentRow& row) {
        return row.url.empty() ? std::nullopt : std::optional(NameTable::hash_of(page_url(row.url)));
      },
      [&](docid_t document, const std::optional<Hash128>& hash) {
        firsts_[document] = hash ? urls_.add(*hash, document) : document;
      });
}

NameHashes NameHashes::from_name(std::string_view name) {
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
