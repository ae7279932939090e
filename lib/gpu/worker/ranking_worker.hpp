#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "quern/core/scratch_memory.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/worker/batch_runner.hpp"
#include "quern/gpu/worker/fronts.hpp"
#include "quern/gpu/worker/gpu_worker.hpp"
#include "quern/gpu/worker/query_queue.hpp"

namespace quern {

/// What batches compute, and the threads that go on with queries that end on fronts.
struct RankingWork {
  gpu::BatchWork batch;
  gpu::ResumePool* cpu = nullptr;
};

/// What became of batches, apart from documents.
struct RankingOutcome {
  GpuStatistics statistics;
  std::vector<GpuQuery*> again;  ///< queries with more candidates than a GPU stores, which must run again
};

namespace gpu {

/// Batches are kept, since new memory is slow to come by.
using QueryBatchPool = SparePool<QueryBatch>;

/// A batch of ranked queries in flight.
struct RankingFlight : WorkerFlight {
  using Item = GpuQuery;

  explicit RankingFlight(BatchRunner batch_runner) : runner(std::move(batch_runner)) {}

  BatchRunner runner;
  std::unique_ptr<DocumentWindows> windows;
  GpuStatistics* statistics = nullptr;
  RankingWork work;
  QueryBatchPool::Borrowed batch;      ///< until it is on the GPU, or its last window is
  std::size_t queries_made_ahead = 0;  ///< of the batch, if it was made before its turn came; else 0
  std::uint64_t first_entry = 0;       ///< where windows decode lists to
};

}  // namespace gpu

/// One GPU's batches of ranked queries. Any number of threads may call answer(), missing_bytes() and keeps_all();
/// nothing else at the same time.
class RankingWorker final : public gpu::GpuWorker<gpu::RankingFlight> {
 public:
  /// Throws as DeviceIndex and DeviceListStore do.
  RankingWorker(const QueryEngine& engine, unsigned gpu, const gpu::GpuMemoryOptions& memory,
                const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);

  /// GPU memory that stays taken: tables, rows, and lists, coded and decoded, or the room for them.
  std::uint64_t device_bytes() const { return index_.account().taken() + (entries_ ? entries_->bytes() : 0); }
  /// Whether all lists stay in the GPU's memory, decoded if the strategy decodes them: no batch brings any.
  bool keeps_all() const { return !store_ && (!entries_ || entries_->cache().has_all_lists()); }
  /// Bytes of these lists that are not in the GPU's memory now.
  std::uint64_t missing_bytes(std::span<const WeightedList> lists);
  /// Answers the first of these queries, at least one, as a batch, and returns how many. Waits until a flight is free,
  /// and then makes its batch while another thread's runs. `launched` is called when the batch runs, with the number of
  /// its queries; again, with fewer at most, if the batch must be made anew. Adds to `outcome`. Throws CudaError if the
  /// GPU fails, CorruptFile if lists don't decode; no query is then answered.
  std::size_t answer(std::span<GpuQuery* const> queries, const RankingWork& work, RankingOutcome& outcome,
                     const std::function<void(std::size_t queries)>& launched);
  /// Sets the strategy of later batches. Throws CudaError if its working memory doesn't fit; another strategy must then
  /// be set.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);

 private:
  using Flight = gpu::RankingFlight;

  std::size_t fill(unsigned number, Items queries, bool for_windows) override;
  bool fits(unsigned number) override {
    const Flight& flight = flights_[number];
    return has_work_room(*flight.batch, flight.work.batch.k) && has_list_room(*flight.batch);
  }
  bool make_windows(unsigned number, Items queries, std::size_t& count) override;
  void prepare_windows(unsigned number) override;
  void run_windows(unsigned number, const gpu::BatchRunner* after) override;
  std::size_t start_whole(unsigned number, Items queries, std::size_t count) override;
  void started(unsigned number, Items queries) override;
  void wait_for_results(unsigned number) override { flights_[number].runner.wait(); }
  void release_decoded(unsigned number, bool ran) noexcept override;
  void clear_decoded() noexcept override;
  void leave_to_cpu(GpuQuery& query) override { query.on_cpu = true; }
  void take_less(std::size_t queries) override;
  gpu::MemoryTable memory() const override;
  void count(unsigned number) override;
  bool can_use_windows() const override { return strategy_->window_limits != nullptr; }

  /// A batch that was made before its turn came; null: it is made then.
  struct MadeBatch {
    gpu::QueryBatchPool::Borrowed batch;
    std::size_t queries = 0;
  };
  /// Makes a batch of the first of these queries, if that does not depend on lists that come and go. Without the lock.
  MadeBatch make_ahead(Items queries, const gpu::BatchWork& work);
  /// A batch without queries, of whole lists or of those parts that are there.
  gpu::QueryBatchPool::Borrowed new_batch(const gpu::BatchWork& work);
  /// Notes how far a batch looks for the documents of its queries.
  static void note_ends(const gpu::QueryBatch& batch, Items queries);
  /// Takes the answers of a batch that has landed.
  void take_answers(const Flight& flight, Items queries, RankingOutcome& outcome);
  /// Hands queries over to the CPU that have ended on fronts, unless they are complete.
  void resume_on_cpu(const Flight& flight, Items queries);
  /// Whether the batch may run beside the one before: it is small, all lists stay on the GPU, and none is being
  /// decoded.
  bool may_overlap(unsigned number) const;
  /// What a batch is planned to take: arrays grow by a quarter.
  std::uint64_t bytes_for_batch() const { return flights_.front().runner.bytes_for_batches() / 5 * 4; }
  /// Of the lists of the batch that is being made.
  struct ListSums {
    std::size_t lists = 0;  ///< that are counted
    std::uint64_t words = 0, rows = 0;
  };
  /// Whether the lists so far of the batch that is being made leave room for more. Brings list_sums_ up to date.
  bool has_list_room(const gpu::QueryBatch& batch);
  /// Whether a batch's decoded lists, its working memory and that of `k` results per query leave room for more.
  bool has_work_room(const gpu::QueryBatch& batch, std::size_t k) const;
  /// Makes the memory for decoded lists, if the strategy decodes any.
  void make_entries();
  /// Brings the batch's lists to the GPU. Throws GpuOutOfMemory.
  void bring_lists_of_batch(unsigned number);
  /// Of a strategy that may: whether it decodes the batch's lists as a whole.
  bool decodes(const Flight& flight) const;
  /// Gives the batch's lists places where they are decoded to. Throws GpuOutOfMemory.
  void place_entries(unsigned number);

  const QueryEngine& engine_;
  std::unique_ptr<gpu::EntryStore> entries_;  ///< null: the strategy decodes no whole lists
  const gpu::Strategy* strategy_ = nullptr;
  gpu::StrategyOptions strategy_options_;
  bool ends_on_fronts_ = false;  ///< queries for documents with all terms do
  gpu::QueryBatchPool batches_;
  ListSums list_sums_;
  double window_share_ = 1;  ///< of what windows could take, as far as memory goes
};

}  // namespace quern
