#pragma once
#include "quern/gpu/worker/batch_runner.hpp"
#include "quern/gpu/worker/gpu_worker.hpp"
#include "quern/gpu/worker/work_queue.hpp"

namespace quern {

/// A query and its results. Belongs to the thread that took it from a QueryQueue.
struct GpuQuery {
  std::size_t number = 0;  ///< in the search
  std::span<const WeightedList> lists;
  std::vector<ScoredDocument> documents;
  std::uint64_t postings = 0;   ///< in its lists
  std::uint32_t min_units = 0;  ///< minimum units of a result, if known from an earlier run
  bool all_found = false, answered = false, on_cpu = false;
  gpu::QueryEnd end;  ///< in its last batch
};

/// Queries that wait for a GPU, the most expensive first, so that thread blocks end together. Thread-safe.
class QueryQueue {
 public:
  /// Batches have at most `max_queries` queries. For one GPU, all have the same size. For several GPUs, all have the
  /// same cost (postings plus `fixed_cost` per query), and each GPU gets a few, but fewer if batches would have less
  /// than about `min_queries` queries.
  QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus, std::uint64_t fixed_cost,
             std::size_t min_queries = 1);

  /// Takes the next batch. If the queue is empty, waits until all taken batches are settled, since their queries may
  /// come back. Returns an empty batch when none is left.
  std::vector<GpuQuery*> take();
  /// Call it once per taken batch: returns these of its queries to the head of the queue.
  void settle(std::span<GpuQuery* const> back);
  /// Drops all waiting queries.
  void stop();
  bool empty() const { return waiting_.empty(); }

 private:
  gpu::WorkQueue<GpuQuery> waiting_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::size_t unsettled_ = 0;  ///< taken batches
};

/// The work on batches, and the threads that resume queries that end on fronts.
struct RankingWork {
  gpu::BatchWork batch;
  gpu::ResumePool* cpu = nullptr;
};

/// The outcome of batches, apart from documents.
struct RankingOutcome {
  GpuStatistics statistics;
  std::vector<GpuQuery*> again;  ///< queries that must run again, since they had more candidates than a GPU stores
};

namespace gpu {

/// Keeps batches, since allocating memory is slow.
using QueryBatchPool = SparePool<QueryBatch>;

struct RankingFlight : WorkerFlight {
  using Query = GpuQuery;

  RankingFlight(const DeviceIndex& index, const DeviceListStore* store, const Strategy& strategy,
                const StrategyOptions& options)
      : runner(make_batch_runner(index, store, strategy, options)) {}

  std::unique_ptr<BatchRunner> runner;
  std::unique_ptr<DocumentWindows> windows;
  GpuStatistics* statistics = nullptr;
  RankingWork work;
  QueryBatchPool::Borrowed batch;      ///< until the batch, or its last window, is on the GPU
  std::size_t queries_made_ahead = 0;  ///< queries of a batch made ahead; 0 if it was not
  std::uint64_t first_entry = 0;       ///< where windows' decoded lists begin
};

}  // namespace gpu

/// One GPU's batches of ranked queries. Only answer(), missing_bytes() and keeps_all() are thread-safe.
class RankingWorker final : public gpu::GpuWorker<gpu::RankingFlight> {
 public:
  /// Divides the memory for batches of up to `max_queries` queries. Throws like DeviceIndex and DeviceListStore.
  RankingWorker(const QueryEngine& engine, unsigned gpu, const gpu::GpuMemoryOptions& memory,
                const gpu::Strategy& strategy, const gpu::StrategyOptions& options, std::size_t max_queries,
                Progress& progress);
  /// Flights use the members here, which the base class would outlive.
  ~RankingWorker() override { flights_.clear(); }

  /// GPU memory that stays allocated: tables, rows, and coded and decoded lists, or the room for these.
  std::uint64_t device_bytes() const { return index_.account().taken() + (entries_ ? entries_->bytes() : 0); }
  /// Whether all lists stay in the GPU's memory, decoded if the strategy decodes lists, so that no batch copies any.
  bool keeps_all() const { return !store_ && (!entries_ || entries_->cache().has_all_lists()); }
  /// Bytes of these lists that are missing in the GPU's memory.
  std::uint64_t missing_bytes(std::span<const WeightedList> lists);
  /// Answers the first of these queries, at least one, as a batch, and returns their number. Waits for a free flight,
  /// then makes the batch while another thread's batch runs. Calls `launched` with the number of queries when the batch
  /// runs, and again with at most as many if the batch must be relaunched. Adds to `outcome`. Throws CudaError if the
  /// GPU fails, CorruptFile if lists don't decode; no query is then answered.
  std::size_t answer(std::span<GpuQuery* const> queries, const RankingWork& work, RankingOutcome& outcome,
                     const std::function<void(std::size_t queries)>& launched);
  /// Sets the strategy of later batches. Throws CudaError if its working memory doesn't fit; set another strategy then.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);

 private:
  using Flight = gpu::RankingFlight;

  std::size_t fill(unsigned number, Queries queries, bool for_windows) override;
  bool fits(unsigned number) override {
    const Flight& flight = flights_[number];
    return has_work_room(*flight.batch, flight.work.batch) && has_list_room(*flight.batch);
  }
  bool make_windows(unsigned number, Queries queries, std::size_t& count) override;
  void prepare_windows(unsigned number) override;
  void run_windows(unsigned number, const gpu::BatchRunner* after) override {
    Flight& flight = flights_[number];
    flight.runner->run_windows(flight.work.batch, *flight.windows, *store_, number, flight.first_entry, after);
  }
  std::size_t start_whole(unsigned number, Queries queries, std::size_t count) override;
  void started(unsigned number, Queries queries) override;
  void wait_for_results(unsigned number) override { flights_[number].runner->wait(); }
  void release_decoded(unsigned number, bool ran) noexcept override {
    if (entries_) entries_->cache().release(number, ran);
  }
  void clear_decoded() noexcept override {
    if (entries_) entries_->cache().clear();
  }
  void leave_to_cpu(GpuQuery& query) override { query.on_cpu = true; }
  void take_less(std::size_t queries) override;
  gpu::MemoryTable memory() const override;
  void count(unsigned number) override;
  bool can_use_windows() const override { return strategy_->window_limits != nullptr; }

  /// A batch made ahead of its launch; null if it is made at launch.
  struct MadeBatch {
    gpu::QueryBatchPool::Borrowed batch;
    std::size_t queries = 0;
  };
  /// Makes a batch of the first of these queries, unless that depends on lists that may be evicted. Without the lock.
  MadeBatch make_ahead(Queries queries, const gpu::BatchWork& work);
  /// An empty batch, which reads whole lists or only the fronts in memory.
  gpu::QueryBatchPool::Borrowed new_batch(const gpu::BatchWork& work);
  /// Notes up to which document a batch answers its queries.
  static void note_ends(const gpu::QueryBatch& batch, Queries queries);
  void take_answers(const Flight& flight, Queries queries, RankingOutcome& outcome);
  /// Hands queries that ended on fronts over to the CPU, unless they are complete.
  void resume_on_cpu(const Flight& flight, Queries queries);
  /// Whether the batch may overlap with the previous one: it is small, and all lists are on the GPU and decoded.
  bool may_overlap(unsigned number) const;
  /// Planned memory of a batch. Arrays grow by up to a quarter more.
  std::uint64_t bytes_for_batch() const { return flights_.front().runner->bytes_for_batches() / 5 * 4; }
  /// Sums over the lists of the batch in the making.
  struct ListSums {
    std::size_t lists = 0;  ///< counted so far
    std::uint64_t words = 0, rows = 0, missing_words = 0;
  };
  /// Updates list_sums_.
  void sum_lists(const gpu::QueryBatch& batch);
  /// Whether the list buffer holds what the batch misses, if there is a list buffer.
  bool has_buffer_room(const gpu::QueryBatch& batch);
  /// Whether the lists of the batch in the making leave room for more. Updates list_sums_.
  bool has_list_room(const gpu::QueryBatch& batch);
  /// Whether a batch's decoded lists, its working memory and its results leave room for more queries.
  bool has_work_room(const gpu::QueryBatch& batch, const gpu::BatchWork& work) const;
  /// The batch's lists of which it reads more than fronts.
  static std::vector<gpu::WantedList> whole_lists(gpu::QueryBatch& batch);
  void make_entries();
  void bring_lists_of_batch(unsigned number);
  /// Whether the strategy, which may decode lists, decodes the batch's as a whole.
  bool decodes(const gpu::QueryBatch& batch, const gpu::BatchWork& work) const {
    return strategy_->decodes_lists(batch, work, strategy_options_, entries_ && entries_->cache().has_all_lists());
  }
  /// Gives the batch's decoded lists places. Throws GpuOutOfMemory.
  void place_entries(unsigned number);

  const QueryEngine& engine_;
  std::unique_ptr<gpu::EntryStore> entries_;  ///< null if the strategy decodes no whole lists
  const gpu::Strategy* strategy_ = nullptr;
  gpu::StrategyOptions strategy_options_;
  bool ends_on_fronts_ = false;  ///< whether queries for documents with all terms end on fronts
  gpu::QueryBatchPool batches_;
  ListSums list_sums_;
  double window_factor_ = 1;  ///< part of the arena of decoded lists that windows use
};

}  // namespace quern
