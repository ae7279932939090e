#pragma once
#include <algorithm>
#include <string_view>

#include "quern/formats/index_shards.hpp"
#include "quern/index/index_assembly.hpp"

namespace quern {

/// The documents of an index, or of all shards of one, for another index.
class IndexDocuments {
 public:
  explicit IndexDocuments(const IndexShards& shards) : shards_(&shards) {}
  explicit IndexDocuments(const IndexReader& index) : index_(&index) {}

  /// Calls visit(document) for the documents [first, end), in their order. By several threads.
  void for_each(docid_t first, docid_t end, const AssembledLists::DocumentVisit& visit) const {
    while (first < end) {
      const IndexShards::Place place = shards_ == nullptr ? IndexShards::Place{*index_, first} : shards_->place(first);
      const docid_t count = std::min(end - first, place.index.num_documents() - place.docid);
      place.index.for_each_text(place.docid, place.docid + count,
                                [&](docid_t docid, std::string_view url, std::string_view title) {
                                  visit({place.index.docno(docid), url, title});
                                });
      first += count;
    }
  }

 private:
  const IndexShards* shards_ = nullptr;
  const IndexReader* index_ = nullptr;  ///< instead of shards
};

}  // namespace quern
