#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/types.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

/// Finds the number that a name stands for. Names are kept as 128-bit hashes: some 30 bytes a name, however long it is.
class NameTable {
 public:
  /// Bytes a name, at the most: where their number was reserved, and where it wasn't, while the table grows.
  static constexpr std::uint64_t name_bytes = 40, growing_name_bytes = 88;

  explicit NameTable(std::size_t expected_names = 0);

  std::size_t size() const { return entries_.size(); }
  /// Gives the name this number unless it has one; returns the one that it has now.
  docid_t add(std::string_view name, docid_t number);
  /// end_docid where the name was never added.
  docid_t find(const Hash128& hash) const;
  docid_t find(std::string_view name) const { return find(hash_of(name)); }

  static Hash128 hash_of(std::string_view name);

 private:
  struct Entry {
    Hash128 hash;
    docid_t number;
  };
  /// Where the hash's slot is, or the empty one that it would take.
  std::size_t slot_of(const Hash128& hash) const;
  void rehash(std::size_t slots);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< place in entries_ + 1, 0 where empty; open addressing, at most half full
};

/// Finds a collection's documents by their URLs. Where several share one, it is the first's.
class PageUrls {
 public:
  /// Throws InvalidArgument where the memory budget has no room for them.
  PageUrls(const CollectionReader& collection, const Resources& resources);

  /// The document with the page_url() of this hash (NameTable::hash_of()); end_docid where there is none.
  docid_t find(const Hash128& page_url_hash) const { return urls_.find(page_url_hash); }
  /// The first document with this document's URL: itself where it has none.
  docid_t first_with_url_of(docid_t document) const { return firsts_[document]; }

 private:
  NameTable urls_;
  std::vector<docid_t> firsts_;
};

/// Finds a collection's documents by what files call them: a docno or a URL. A name that is the docno of one and the
/// URL of another is a docno.
class NamedDocuments {
 public:
  /// Throws InvalidArgument where the memory budget has no room for them.
  NamedDocuments(const CollectionReader& collection, const Resources& resources);

  /// end_docid where no document is called so.
  docid_t find(std::string_view name) const;

 private:
  NameTable docnos_;
  PageUrls urls_;
};

}  // namespace quern
