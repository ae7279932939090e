#pragma once
#include <deque>
#include <span>
#include <unordered_set>

#include "quern/core/types.hpp"
#include "quern/gpu/store/list_cache.hpp"
#include "quern/search/query_engine.hpp"

/// Batches of `and` that read no more of some lists than the fronts that a plan keeps (Wang et al.: Efficient GPU-based
/// Query Processing with Pruned List Caching in Search Engines, ICPADS 2017, section 3.3). Where the first of a query's
/// fronts ends, the CPU goes on. Host code.
namespace quern::gpu {

class QueryBatch;

/// Whether queries for documents with all terms end on fronts.
bool ends_on_fronts(const GpuMemoryOptions& memory, const QueryEngine& engine);

/// The fronts that a batch reads instead of whole lists.
class BatchFronts {
 public:
  /// `cache` must outlive the object.
  explicit BatchFronts(const ListCache& cache) : cache_(cache) {}

  /// The list as the batch reads it: its front, which lives as long as this object, if one is kept and what follows it
  /// is not there; else the list itself. To be called once for each list.
  const PostingList& of(const PostingList& list);
  /// Whether the batch reads no more of the list than its front.
  bool is_cut(const PostingList& list) const { return terms_.contains(list.number); }
  const ListCache& cache() const { return cache_; }
  /// The lists of which fronts are read, and the bytes that follow these.
  const ListCacheCounts& counts() const { return counts_; }

 private:
  const ListCache& cache_;
  std::deque<PostingList> fronts_;
  std::unordered_set<term_t> terms_;
  ListCacheCounts counts_;
};

/// How far a batch looks for a query's documents.
struct QueryEnd {
  bool on_front = false;         ///< it reads no more of some list than its front
  docid_t from_cpu = end_docid;  ///< the first document that is left to the CPU; end_docid: none can have all terms
};

/// Of the query at this place in a batch of `and`, which has these lists. Throws CorruptFile if a front ends with a
/// document that the index does not have.
QueryEnd end_of_query(const QueryBatch& batch, std::size_t place, std::span<const WeightedList> lists);

/// Whether the GPU's results, best first, are the query's: no document from `end.from_cpu` on is one.
bool is_complete(const QueryEngine& engine, const QueryEnd& end, std::span<const ScoredDocument> results,
                 std::size_t k);

}  // namespace quern::gpu
