#pragma once
#include <vector>

#include "quern/formats/collection.hpp"
#include "quern/index/posting.hpp"

namespace quern {

/// Counts the terms of a chunk's documents, in title and body together. One a thread.
class ForwardPostings {
 public:
  /// Postings of the chunk, document after document; docids[d] is the docID of the collection's document d.
  std::vector<Posting> read(const CollectionReader& collection, std::size_t chunk, std::span<const docid_t> docids);

 private:
  void count(ByteView stream, const CollectionReader& collection);

  ChunkBuffers buffers_;
  std::vector<freq_t> counts_;          ///< of each chunk term, in the document at hand
  std::vector<std::uint32_t> counted_;  ///< chunk terms of the document at hand, in the order of their first coming
};

}  // namespace quern
