#pragma once
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/name_table.hpp"

namespace quern {

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
