#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/scratch_memory.hpp"
#include "quern/gpu/worker/query_queue.hpp"
#include "quern/gpu/worker/ranking_worker.hpp"
#include "quern/gpu/worker/worker_pool.hpp"
#include "quern/search/query_engine.hpp"

namespace quern {

/// Which GPUs answer queries, and how.
struct GpuOptions {
  unsigned gpu = 0;
  std::size_t batch_queries = 16384;  ///< maximum queries per batch
  unsigned gpus = 1;                  ///< GPUs from number `gpu` on; 0: all
  const gpu::Strategy* strategy = &gpu::all_strategies().front();
  gpu::StrategyOptions strategy_options = {};
  gpu::GpuMemoryOptions memory = {};  ///< of each GPU
};

/// Throws InvalidArgument if a number is out of its range.
void check_gpu_options(const GpuOptions& options);

/// Answers queries on one or several GPUs, with the same results as QueryEngine, bit for bit. Each GPU has the whole
/// index, or what its memory holds of it, and works on several batches at a time: of several threads that search, or of
/// one. A GPU that fails is not used again, and the others answer its queries; if it was the last one, search() throws
/// its error. Any number of threads may search, and ask for missing bytes; nothing else may be
/// called at the same time.
class GpuEngine {
 public:
  /// Copies the index to all GPUs at the same time. Throws CudaError if there is no GPU; GpuOutOfMemory if one has too
  /// little memory even for one batch;
  /// InvalidArgument if there are fewer GPUs than asked for, if an option is out of its range, or if GPUs can't decode
  /// the index's codec.
  GpuEngine(const QueryEngine& engine, const GpuOptions& options, Progress& progress);

  /// The k best documents of each query, best first, of those in `passing` or, if that is null, of all. Throws
  /// CudaError if no GPU is left, CorruptFile if lists don't decode, InvalidArgument if k is 0, if the strategy does
  /// not answer queries by this algorithm or knows no filters, or if `passing` is a set of another number of documents
  /// than the index's.
  std::vector<std::vector<ScoredDocument>> search(std::span<const QueryView> queries, const QueryAlgorithm& algorithm,
                                                  std::size_t k, GpuStatistics* statistics = nullptr,
                                                  const DocumentSet* passing = nullptr);
  /// Bytes of a query's lists that are not in the memory of the GPU that has least to do. 0 if no GPU is left.
  std::uint64_t missing_bytes(std::span<const WeightedList> lists);
  /// Sets the maximum queries per batch.
  void set_batch_queries(std::size_t queries);
  /// Sets the strategy of later batches. Throws CudaError if its working memory doesn't fit; another strategy must then
  /// be set.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);
  /// Uses only the first `gpus` GPUs from now on.
  void use_gpus(std::size_t gpus) { used_ = gpus; }
  /// Whether all lists stay in the memory of each GPU: no batch brings any.
  bool keeps_all() const { return keeps_all_; }
  /// How many queries are best asked for at a time where several searches are under way: where a batch more costs
  /// little, as many as a batch is best cut to; else as many as a batch may have, since each brings lists.
  std::size_t queries_per_search() const;
  /// GPUs that have not failed.
  std::size_t gpus() const { return workers_.size(); }
  /// GPU memory that stays taken, on each GPU: what it has of the index, and the room for more.
  std::uint64_t device_bytes() const { return workers_.front().device_bytes(); }

 private:
  /// The lists of queries, of some in each. Kept, so that later queries allocate little.
  using QueryLists = std::vector<std::vector<WeightedList>>;
  struct Search;

  /// Answers some of a search's queries, from the finding of their lists to their results. Adds to `statistics`.
  void answer_portion(Search& search, std::size_t first, std::size_t count, GpuStatistics& statistics);
  /// The queries' lists are in `parts`.
  std::vector<GpuQuery> prepare(std::span<const QueryView> asked, const QueryAlgorithm& algorithm, std::size_t k,
                                QueryLists& parts) const;
  /// Finds the lists of some of the queries, and puts them into `lists`.
  void find_lists(std::span<GpuQuery> queries, std::span<const QueryView> asked,
                  std::vector<WeightedList>& lists) const;
  void answer(std::span<GpuQuery> all, const gpu::BatchWork& work, GpuStatistics& statistics);
  /// Answers the queries in the queue on all GPUs. Returns the queries that must run again.
  std::vector<GpuQuery*> process(QueryQueue& queue, const RankingWork& work, GpuStatistics& statistics);
  /// Answers batches of the queue until none is left. Calls `more` when others may take some, too.
  void answer_batches(QueryQueue& queue, const RankingWork& work, RankingOutcome& outcome,
                      const std::function<void()>& more);
  /// Batches that all GPUs work on at a time.
  std::size_t flights() const { return gpu::batches_in_flight * gpus_in_use(); }
  std::size_t gpus_in_use() const { return std::max<std::size_t>(1, std::min(used_, workers_.size())); }
  void answer_on_cpu(const Search& search, std::span<const QueryView> asked, std::span<GpuQuery> queries) const;

  const QueryEngine& engine_;
  GpuOptions options_;
  SparePool<QueryLists> lists_;
  bool keeps_all_ = false;  ///< no batch brings lists: batches more cost little
  gpu::WorkerPool<RankingWorker> workers_;
  std::atomic<std::uint64_t> filtered_searches_ = 0;  ///< so far
  std::size_t used_ = 0;                              ///< how many of the shares are used, from the first on
};

}  // namespace quern
