#include "quern/order/for_each_chunk.hpp"

#include "quern/corpus/forward_postings.hpp"

namespace quern {

std::uint64_t link_reading_bytes(const CollectionReader& collection) {
  std::uint64_t most = 0;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    const ChunkRow& row = collection.chunk(chunk);
    for (const ChunkPiece piece : {ChunkPiece::documents, ChunkPiece::links}) {
      const auto i = static_cast<std::size_t>(piece);
      most = std::max(most, row.sizes[i] + 2 * std::uint64_t{row.raw_sizes[i]});
    }
  }
  return most;
}

std::uint64_t posting_reading_bytes(const CollectionReader& collection) {
  std::uint64_t most = 0;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk)
    most = std::max(most, ForwardPostings::memory_bytes(collection, chunk));
  return most;
}

}  // namespace quern
