#pragma once
#include <functional>
#include <vector>

#include "quern/collection/posting.hpp"
#include "quern/formats/collection.hpp"

namespace quern {

/// Counts the terms of a collection's documents, in title and body together. One per thread.
class ForwardPostings {
 public:
  /// Postings of the documents that begin and end in the chunk, document after document; docids[d] is the docID of the
  /// collection's document d.
  std::vector<Posting> read(const CollectionReader& collection, std::size_t chunk, std::span<const docid_t> docids);
  /// The same with the documents' numbers in the collection as docIDs.
  std::vector<Posting> read(const CollectionReader& collection, std::size_t chunk);

  /// How many postings of a split document are in memory at a time; as many again before they are sorted.
  static constexpr std::size_t split_batch_postings = 1 << 18;
  /// Calls visit(postings) for batches of the postings of a document that lies in several chunks: rising terms, each
  /// once, with `docid`. Reads the document's chunks again for each batch.
  void read_split(const CollectionReader& collection, const SplitDocument& split, docid_t docid,
                  const std::function<void(std::span<const Posting>)>& visit,
                  std::size_t batch_postings = split_batch_postings);

 private:
  template <class DocidOf>
  std::vector<Posting> read_with(const CollectionReader& collection, std::size_t chunk, const DocidOf& docid_of);
  void count(ByteView stream, const CollectionReader& collection);
  /// Appends the row's postings to `postings` and sets its counts to zero again.
  void count_row(const ForwardRow& row, docid_t docid, const CollectionReader& collection,
                 std::vector<Posting>& postings);

  ChunkBuffers buffers_;
  std::vector<freq_t> counts_;          ///< of each chunk term, in the document at hand
  std::vector<std::uint32_t> counted_;  ///< chunk terms of the document at hand, in the order in which they first occur
};

}  // namespace quern
