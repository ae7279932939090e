#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/order/order.hpp"
#include "quern/order/pagerank.hpp"

/// Measures the costs and savings of document orders, and the cost of PageRank.
namespace quern {

/// The size of postings with a codec in a document order, in bits per posting. The directory holds the last docID and
/// the offset of each block, which decoding also needs.
struct CodecBits {
  const Codec* codec = nullptr;
  double docid = 0, freq = 0, directory = 0;
};

/// The cost and savings of a document order.
struct OrderFigures {
  std::string by;
  double seconds = 0;                       ///< wall-clock time to make it, with PageRank if needed
  std::optional<std::uint64_t> peak_bytes;  ///< of the whole process meanwhile; empty if unknown
  double gap_entropy_bits = 0;              ///< zero-order entropy of all gaps, in bits per posting
  std::vector<CodecBits> codecs;            ///< of all_codecs()
};

/// Makes the order and, with each codec, an index in that order, as unnamed work files. Throws what they throw.
OrderFigures measure_order(const CollectionReader& collection, const OrderOptions& options,
                           const PagerankInput& pagerank, unsigned block_size, const Resources& resources);

struct PagerankFigures {
  unsigned iterations = 0;
  double last_change = 0;          ///< sum over all ranks
  double seconds = 0;              ///< wall-clock time of one computation; median over the repeats
  std::uint64_t memory_bytes = 0;  ///< peak of this process, including reading the graph; 0 if unknown

  double seconds_per_iteration() const { return iterations == 0 ? 0 : seconds / iterations; }
};

/// Computes the graph's PageRank `repeats` times.
PagerankFigures measure_pagerank(const PageGraph& graph, const PagerankOptions& options, unsigned repeats,
                                 const Resources& resources);

}  // namespace quern
