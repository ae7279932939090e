#pragma once
#include <tbb/task_arena.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <unordered_set>

#include "quern/gpu/store/list_cache.hpp"

/// Batches of `and` that read only the fronts of some lists, which a plan keeps (Wang et al.: Efficient GPU-based Query
/// Processing with Pruned List Caching in Search Engines, ICPADS 2017, section 3.3). The CPU resumes a query where its
/// first front ends.
namespace quern::gpu {

class QueryBatch;

/// Whether queries for documents with all terms may end on fronts.
bool ends_on_fronts(const GpuMemoryOptions& memory, const QueryEngine& engine);

/// The fronts that a batch reads instead of whole lists.
class BatchFronts {
 public:
  /// `cache` must outlive the object.
  explicit BatchFronts(const ListCache& cache) : cache_(cache) {}

  /// The list as the batch reads it: its front, valid as long as this object, if the rest is not in memory; else the
  /// list itself. Call it once per list.
  const PostingList& list_to_read(const PostingList& list);
  /// Whether the batch reads only the list's front.
  bool is_cut(const PostingList& list) const { return terms_.contains(list.number); }
  const ListCache& cache() const { return cache_; }
  /// Counts the lists cut to fronts, and the bytes after these.
  const ListCacheCounts& counts() const { return counts_; }

 private:
  const ListCache& cache_;
  std::deque<PostingList> fronts_;
  std::unordered_set<term_t> terms_;
  ListCacheCounts counts_;
};

/// The docID up to which a batch answers a query.
struct QueryEnd {
  bool on_front = false;         ///< whether it reads only the front of some list
  docid_t from_cpu = end_docid;  ///< the first document left to the CPU; end_docid: none can have all terms
};

/// The end of the query with these lists at this place in a batch of `and`. Throws CorruptFile if a front's last docID
/// is not below the number of documents.
QueryEnd end_of_query(const QueryBatch& batch, std::size_t place, std::span<const WeightedList> lists);

/// Whether the GPU's results, best first, are complete: no document from `end.from_cpu` on can be a result.
bool is_complete(const QueryEngine& engine, const QueryEnd& end, std::span<const ScoredDocument> results,
                 std::size_t k);

/// A query, and its results so far, which the final ones replace. Lists and results must outlive the work.
struct UnfinishedQuery {
  std::span<const WeightedList> lists;
  docid_t first = 0;  ///< the first document yet to search
  std::vector<ScoredDocument>* results = nullptr;
};

/// CPU threads that resume queries while GPUs answer others: see QueryEngine::resume(). They do no other parallel work,
/// so a thread that waits for such work never takes one of these queries.
class ResumePool {
 public:
  /// Uses as many threads as the caller's parallel calls. `passing`, see QueryEngine::search(), must outlive it.
  ResumePool(const QueryEngine& engine, std::size_t k, const DocumentSet* passing = nullptr)
      : engine_(engine), k_(k), passing_(passing), arena_(tbb::this_task_arena::max_concurrency()) {}
  /// Waits for begun queries, and drops other queries and errors.
  ~ResumePool();

  /// Hands queries over and returns. Thread-safe.
  void resume(std::span<const UnfinishedQuery> queries);
  /// Waits for all queries, of which this thread answers some. Rethrows the first error; other results are then
  /// invalid. No query may be handed over afterwards.
  void wait();

  /// After wait().
  std::uint64_t queries() const { return queries_; }
  /// The time of all threads, in microseconds.
  double time_us() const { return time_us_; }

 private:
  /// Has one more thread answer queries, if there may be one more.
  void add_thread();
  /// Answers queries until none waits.
  void answer_waiting();
  void answer(std::span<const UnfinishedQuery> queries);
  void wait_for_threads();

  const QueryEngine& engine_;
  const std::size_t k_;
  const DocumentSet* passing_;
  tbb::task_arena arena_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable ended_;
  std::deque<std::vector<UnfinishedQuery>> waiting_;
  int threads_ = 0;  ///< that answer queries, or soon will
  std::exception_ptr error_;
  std::uint64_t queries_ = 0;
  double time_us_ = 0;
};

}  // namespace quern::gpu
