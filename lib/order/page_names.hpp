#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

/// Maps names to numbers. Names are kept as 128-bit hashes: some 30 bytes per name, however long it is.
class NameTable {
 public:
  /// Maximal bytes per name: with their number reserved, and while a table without a reservation grows.
  static constexpr std::uint64_t name_bytes = 40, growing_name_bytes = 88;

  explicit NameTable(std::size_t expected_names = 0);

  std::size_t size() const { return entries_.size(); }
  /// Gives the name this number unless it has one; returns the number that it has now.
  docid_t add(std::string_view name, docid_t number) { return add(hash_of(name), number); }
  docid_t add(const Hash128& hash, docid_t number);
  /// end_docid if the name was never added.
  docid_t find(const Hash128& hash) const;
  docid_t find(std::string_view name) const { return find(hash_of(name)); }

  static Hash128 hash_of(std::string_view name);

 private:
  struct Entry {
    Hash128 hash;
    docid_t number;
  };
  /// The hash's slot, or the empty one that it would take.
  std::size_t slot_of(const Hash128& hash) const;
  void rehash(std::size_t slots);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< index in entries_ + 1, 0 if empty; open addressing, at most half full
};

/// Finds a collection's documents by their URLs. If several share a URL, it belongs to the first.
class PageUrls {
 public:
  /// Reads so many chunks at once, on the threads that there are; each takes link_reading_bytes().
  explicit PageUrls(const CollectionReader& collection, std::size_t chunks_at_once = 1);
  /// What the table of this collection takes.
  static std::uint64_t table_bytes(const CollectionReader& collection);

  /// The document whose page_url() has this hash (NameTable::hash_of()); end_docid if there is none.
  docid_t find(const Hash128& page_url_hash) const { return urls_.find(page_url_hash); }
  /// The first document with this document's URL; the document itself if it has none.
  docid_t first_with_url_of(docid_t document) const { return firsts_[document]; }

 private:
  NameTable urls_;
  std::vector<docid_t> firsts_;
};

/// The documents that a name may mean: by the hashes (NameTable::hash_of()) of the name as a docno, and as a
/// page_url().
struct NameHashes {
  Hash128 docno, url;

  static NameHashes of(std::string_view name);
};

/// Finds a collection's documents by docno or URL. A name that is the docno of one document and the URL of another is
/// taken as the docno.
class NamedDocuments {
 public:
  explicit NamedDocuments(const CollectionReader& collection);
  /// What the tables of this collection take.
  static std::uint64_t table_bytes(const CollectionReader& collection);

  /// end_docid if no document has this name.
  docid_t find(std::string_view name) const;

 private:
  NameTable docnos_;
  PageUrls urls_;
};

}  // namespace quern
