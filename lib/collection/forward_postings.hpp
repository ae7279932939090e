#pragma once
#include <vector>

#include "quern/collection/posting.hpp"
#include "quern/formats/collection.hpp"

namespace quern {

/// Counts the terms of a chunk's documents, in title and body together. One per thread.
class ForwardPostings {
 public:
  /// Postings of the chunk, document after document; docids[d] is the docID of the collection's document d.
  std::vector<Posting> read(const CollectionReader& collection, std::size_t chunk, std::span<const docid_t> docids);
  /// The same with the documents' numbers in the collection as docIDs.
  std::vector<Posting> read(const CollectionReader& collection, std::size_t chunk);

 private:
  template <class DocidOf>
  std::vector<Posting> read_with(const CollectionReader& collection, std::size_t chunk, const DocidOf& docid_of);
  void count(ByteView stream, const CollectionReader& collection);

  ChunkBuffers buffers_;
  std::vector<freq_t> counts_;          ///< of each chunk term, in the document at hand
  std::vector<std::uint32_t> counted_;  ///< chunk terms of the document at hand, in the order in which they first occur
};

}  // namespace quern
