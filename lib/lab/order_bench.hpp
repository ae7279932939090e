#pragma once
#include "quern/codec/codec.hpp"
#include "quern/order/order.hpp"
#include "quern/order/pagerank.hpp"
#include "quern/search/query_engine.hpp"

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

// Measures the savings of early termination: how much of their lists `and` queries read (Wang et al. 3.3.2, figure 3).

/// Visits of a list by the queries with its term, at evenly spaced places from its first posting to its last.
struct VisitCurve {
  std::string term;
  std::uint64_t df = 0;
  std::uint64_t queries = 0;          ///< queries with the term, repetitions included
  std::vector<std::uint64_t> visits;  ///< queries that visit the posting at place i / (size - 1) of the list
};

struct TerminationFigures {
  std::size_t k = 0;
  std::uint64_t queries = 0;  ///< queries whose terms are all in the index
  QueryStatistics counts;
  VisitCurve curve;
};

/// Points of a curve, and the minimum length of its list.
inline constexpr std::size_t visit_curve_points = 101;

/// Runs all queries with `and`, in parallel, and counts their visits. The curve belongs to the most frequent query term
/// among those with at least visit_curve_points postings. Throws InvalidArgument if no query has all its terms in the
/// index.
TerminationFigures measure_termination(const QueryEngine& engine, std::span<const std::string_view> texts,
                                       std::size_t k, const Resources& resources);

}  // namespace quern
