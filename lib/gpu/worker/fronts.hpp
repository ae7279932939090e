#pragma once
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

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
  const PostingList& list_to_read(const PostingList& list);
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

// Queries that a GPU answered up to some document, and that the CPU goes on with. Host code.

/// A query, and its results so far, which its final ones replace. What is referred to must outlive the work.
struct UnfinishedQuery {
  std::span<const WeightedList> lists;
  docid_t first = 0;  ///< the first document that was not looked at
  std::vector<ScoredDocument>* results = nullptr;
};

/// Threads of the CPU that go on with queries while GPUs answer others: see QueryEngine::resume(). They take part in no
/// other parallel work, so that a thread that waits for such work never takes one of these queries.
class ResumePool {
 public:
  /// As many threads as parallel calls have where this is called. `k`: results per query. `passing`: as in
  /// QueryEngine::search(); it must outlive the object.
  ResumePool(const QueryEngine& engine, std::size_t k, const DocumentSet* passing = nullptr);
  /// Waits for what has been begun; drops the rest, and errors.
  ~ResumePool();
  ResumePool(const ResumePool&) = delete;
  ResumePool& operator=(const ResumePool&) = delete;

  /// Hands queries over and returns. Thread-safe.
  void resume(std::span<const UnfinishedQuery> queries);
  /// Waits for all queries; this thread takes some of them. Rethrows the first error, after which the others' results
  /// are not to be used. No more queries may be handed over.
  void wait();

  /// After wait().
  std::uint64_t queries() const { return queries_; }
  /// The time of all threads, in microseconds.
  double time_us() const { return time_us_; }

 private:
  void answer(std::span<const UnfinishedQuery> queries);

  const QueryEngine& engine_;
  const std::size_t k_;
  const DocumentSet* passing_;
  tbb::task_arena arena_;
  tbb::task_group group_;
  std::atomic<bool> used_ = false;  ///< else nothing is to be waited for
  std::mutex mutex_;                ///< of what follows
  std::uint64_t queries_ = 0;
  double time_us_ = 0;
};

}  // namespace quern::gpu
