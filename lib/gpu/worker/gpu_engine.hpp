#pragma once
#include "quern/gpu/worker/ranking_worker.hpp"

namespace quern {

/// The GPUs that answer queries, and their options.
struct GpuOptions {
  unsigned gpu = 0;
  /// Maximum queries per batch. Batches are smaller where memory is short, or where all lists stay in memory.
  std::size_t batch_queries = gpu::max_batch_queries;
  unsigned gpus = 1;  ///< GPUs from number `gpu` on; 0: all
  const gpu::Strategy* strategy = &gpu::all_strategies().front();
  gpu::StrategyOptions strategy_options = {};
  gpu::GpuMemoryOptions memory = {};  ///< of each GPU
};

/// Returns the options. Throws InvalidArgument if a number is out of range.
const GpuOptions& check_gpu_options(const GpuOptions& options);

/// The sizes of a search's steps where an additional batch costs little: a small first one, so that GPUs begin early,
/// and the rest, which is divided into batches by cost.
std::vector<std::size_t> step_sizes(std::size_t queries);

/// Answers queries on one or several GPUs, with the same results as QueryEngine, bit for bit. Each GPU holds the whole
/// index, or as much as fits, and works on several batches at a time, of one or several searching threads. A GPU that
/// fails is not used again, and the others answer its queries; if it was the last one, search() throws its error. Any
/// number of threads may call search() and missing_bytes(), but no other function meanwhile.
class GpuEngine {
 public:
  /// Copies the index to all GPUs at the same time. Throws CudaError if there is no GPU; GpuOutOfMemory if one has too
  /// little memory even for one batch; InvalidArgument if there are fewer GPUs than requested, an option is out of
  /// range, or GPUs can't decode the index's codec.
  GpuEngine(const QueryEngine& engine, const GpuOptions& options, Progress& progress);

  /// The k best documents of each query, best first, of those in `passing` or, if that is null, of all. Throws
  /// CudaError if no GPU is left, CorruptFile if lists don't decode, InvalidArgument if k is 0, if the strategy does
  /// not support the algorithm or filters, or if `passing` belongs to another number of documents.
  std::vector<std::vector<ScoredDocument>> search(std::span<const QueryView> queries, const QueryAlgorithm& algorithm,
                                                  std::size_t k, GpuStatistics* statistics = nullptr,
                                                  const DocumentSet* passing = nullptr);
  /// Bytes of a query's lists that are missing on the least busy GPU. 0 if no GPU is left.
  std::uint64_t missing_bytes(std::span<const WeightedList> lists);
  /// Sets the maximum queries per batch.
  void set_batch_queries(std::size_t queries);
  /// Sets the strategy of later batches. Throws CudaError if its working memory doesn't fit; set another strategy then.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);
  /// Whether all lists stay in the memory of each GPU, so that no batch copies any.
  bool keeps_all() const { return keeps_all_; }
  /// Preferred number of queries per concurrent search of a shard: fewer than a batch may have where an additional
  /// batch costs little; else the maximum, since each batch copies lists.
  std::size_t queries_per_search() const;
  /// GPUs that have not failed.
  std::size_t gpus() const { return workers_.size(); }
  /// GPU memory that stays allocated on each GPU: its lists and tables, and the room for more lists.
  std::uint64_t device_bytes() const { return workers_.front().device_bytes(); }

 private:
  /// The lists of queries, in blocks of queries_per_block. Kept, so that later searches allocate little.
  using QueryLists = std::vector<std::vector<WeightedList>>;
  struct Search;

  /// Answers one step of a search, from finding lists to results. Adds to `statistics`.
  void answer_step(Search& search, std::size_t first, std::size_t count, GpuStatistics& statistics);
  /// Finds the lists of a step's queries, which refer to `lists`.
  std::vector<GpuQuery> prepare(std::span<const QueryView> asked, const QueryAlgorithm& algorithm, std::size_t k,
                                QueryLists& lists) const;
  void answer(std::span<GpuQuery> all, const gpu::BatchWork& work, GpuStatistics& statistics);
  /// Answers the queries in the queue on all GPUs. Returns the queries that must run again.
  std::vector<GpuQuery*> process(QueryQueue& queue, const RankingWork& work, GpuStatistics& statistics);
  /// Answers batches of the queue until none is left. Calls `more` when other threads may take some too.
  void answer_batches(QueryQueue& queue, const RankingWork& work, RankingOutcome& outcome,
                      const std::function<void()>& more);
  void answer_on_cpu(const Search& search, std::span<const QueryView> asked, std::span<GpuQuery> queries) const;

  const QueryEngine& engine_;
  GpuOptions options_;
  SparePool<QueryLists> lists_;
  bool keeps_all_ = false;  ///< no batch copies lists, so additional batches cost little
  gpu::WorkerPool<RankingWorker> workers_;
  std::atomic<std::uint64_t> filtered_searches_ = 0;  ///< so far
  std::atomic<unsigned> searches_ = 0;                ///< under way
};

}  // namespace quern
