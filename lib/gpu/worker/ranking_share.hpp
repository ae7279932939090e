#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "quern/core/spare_pool.hpp"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/store/entry_store.hpp"
#include "quern/gpu/worker/batch_growth.hpp"
#include "quern/gpu/worker/batch_runner.hpp"
#include "quern/gpu/worker/flight_control.hpp"
#include "quern/gpu/worker/fronts.hpp"
#include "quern/gpu/worker/gpu_statistics.hpp"
#include "quern/gpu/worker/query_queue.hpp"
#include "quern/gpu/worker/resume_pool.hpp"
#include "quern/gpu/worker/window_copies.hpp"
#include "quern/gpu/worker/work_clock.hpp"
#include "quern/search/query_engine.hpp"

namespace quern {

/// What batches compute, and who goes on with queries that end on fronts.
struct RankingWork {
  gpu::BatchWork batch;
  gpu::ResumePool* cpu = nullptr;
};

/// What became of batches, apart from documents.
struct RankingOutcome {
  GpuStatistics statistics;
  std::vector<GpuQuery*> again;  ///< queries with more candidates than a GPU stores, which must run again
};

/// One GPU's share of ranked queries: the index in its memory, or those lists of it that batches need, and a runner for
/// each flight. A batch that needs more memory than there is becomes smaller; a query that alone needs too much goes to
/// the CPU. Any number of threads may call answer(), missing_bytes() and keeps_all(); nothing else at
/// the same time.
class RankingShare {
 public:
  /// Throws as DeviceIndex and ListStore do.
  RankingShare(const QueryEngine& engine, unsigned gpu, const gpu::GpuMemoryOptions& memory,
               const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);

  /// The GPU's number.
  unsigned gpu() const { return index_.gpu(); }
  /// GPU memory that stays taken: tables, rows, and lists, coded and decoded, or the room for them.
  std::uint64_t device_bytes() const { return index_.account().taken() + (entries_ ? entries_->bytes() : 0); }
  /// Whether all lists stay in the GPU's memory, decoded if the strategy decodes them: no batch brings any.
  bool keeps_all() const { return !store_ && (!entries_ || entries_->cache().has_all_lists()); }
  /// Bytes of these lists that are not in the GPU's memory now.
  std::uint64_t missing_bytes(std::span<const WeightedList> lists);
  /// Answers the first of these queries, at least one, as a batch, and returns how many. Waits until a
  /// flight is free, and then makes its batch while another thread's runs. `launched` is called when the
  /// batch runs, with the number of its queries; again, with fewer at most, if the batch must be made anew. Adds to
  /// `outcome`. Throws CudaError if the GPU fails, CorruptFile if lists don't decode; no query is then answered.
  std::size_t answer(std::span<GpuQuery* const> queries, const RankingWork& work, RankingOutcome& outcome,
                     const std::function<void(std::size_t queries)>& launched);
  /// The most memory that was taken, by its use.
  gpu::MemoryTable memory() const;
  /// Sets the strategy of later batches. Throws CudaError if its working memory doesn't fit; another strategy must then
  /// be set.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);

 private:
  static constexpr unsigned num_flights = gpu::batches_in_flight;
  /// Batches are kept, since new memory is slow to come by.
  using BatchPool = SparePool<gpu::QueryBatch>;

  /// A batch that was made before its turn came; null: it is made then.
  struct MadeBatch {
    BatchPool::Borrowed batch;
    std::size_t queries = 0;
    double us = 0;  ///< that it took
  };

  /// A batch in flight, or none: its only query went to the CPU.
  struct Flight {
    explicit Flight(gpu::BatchRunner of) : runner(std::move(of)) {}

    gpu::BatchRunner runner;
    bool has_batch = false;
    RankingWork work;
    RankingOutcome* outcome = nullptr;
    MadeBatch made;                                 ///< until it is launched
    BatchPool::Borrowed batch;                      ///< if it goes through windows of documents
    std::unique_ptr<gpu::DocumentWindows> windows;  ///< likewise
    gpu::WindowCopies copies;                       ///< of these windows
  };

  /// Starts a batch of the first of these queries, at least one, in a flight that has none; returns how many it has.
  std::size_t launch(unsigned flight, std::span<GpuQuery* const> queries);
  /// Waits for the flight's batch and takes its results. False if it must be launched again.
  bool land(unsigned flight, std::span<GpuQuery* const> queries);
  /// Waits until the flight's batch has ended, and those that were launched before it are known to be sound. Returns
  /// whether there was enough memory.
  bool wait_for_end(unsigned flight);
  /// With the lock: takes what the batch of a flight has left behind, besides answers.
  void count(unsigned flight);
  /// Waits for a flight whose launch failed, and drops what it has.
  void abandon(unsigned flight) noexcept;
  /// A batch turned out to be damaged, or the GPU has failed: lists may not have been decoded, or be damaged.
  void forget_lists(unsigned flight) noexcept;

  /// Makes a batch of the first of these queries, if that does not depend on lists that come and go. Without the lock.
  MadeBatch make_ahead(std::span<GpuQuery* const> queries, const gpu::BatchWork& work);
  /// Adds the first of these queries to a batch, as many as fit; returns how many.
  static std::size_t fill(gpu::QueryBatch& batch, std::span<GpuQuery* const> queries, const gpu::BatchWork& work,
                          const std::function<bool()>& fits);
  /// Makes and starts a batch of the first of these queries, or starts the one that is made. Throws GpuOutOfMemory.
  std::size_t start_batch(unsigned flight, std::span<GpuQuery* const> queries);
  /// A batch without queries, of whole lists or of those parts that are there.
  BatchPool::Borrowed new_batch(const gpu::BatchWork& work);
  /// Makes and starts it with the lock.
  std::size_t make_and_start(unsigned flight, std::span<GpuQuery* const> queries);
  /// Notes how far a batch looks for the documents of its queries.
  static void note_ends(const gpu::QueryBatch& batch, std::span<GpuQuery* const> queries);
  /// Hands queries over to the CPU that have ended on fronts, unless they are complete.
  void resume_on_cpu(const Flight& of, std::span<GpuQuery* const> queries);
  /// Starts a batch whose lists do not fit the GPU's memory together. False, and nothing started, if the blocks of a
  /// range do not fit either. Throws GpuOutOfMemory.
  bool start_windows(unsigned flight, BatchPool::Borrowed batch, const gpu::WindowLimits& limits);
  /// The same with as large windows as memory allows. The batch is taken, also if nothing is started.
  bool start_by_windows(unsigned flight, BatchPool::Borrowed& batch);
  /// Starts a batch whose lists fit. Throws GpuOutOfMemory.
  void start_whole(unsigned flight, gpu::QueryBatch& batch);
  /// Whether the batch may run beside the one before: it is small, all lists stay on the GPU, and none is being
  /// decoded.
  bool may_overlap(unsigned flight, const gpu::QueryBatch& batch) const;
  /// Whether batches may go through windows.
  bool may_use_windows() const {
    return store_ && index_.division().resident_rows && strategy_->window_limits != nullptr;
  }
  /// What a batch is planned to take: arrays grow by a quarter.
  std::uint64_t bytes_for_batch() const { return flights_.front().runner.bytes_for_batches() / 5 * 4; }
  /// Words for the decoded lists of a window.
  std::uint64_t entry_words_for_windows() const {
    const std::uint64_t all = entries_ ? entries_->cache().words() : 0;
    return static_cast<std::uint64_t>(window_share_ * static_cast<double>(all)) / num_flights;
  }
  /// Waits until no other flight's kernels read lists.
  void free_lists_of_others(unsigned flight);
  /// Ends the use of what the flight's batch has of lists.
  void release(unsigned flight, bool ran = true) noexcept;
  /// The runner whose kernels come before those of the flight; null if there is none.
  const gpu::BatchRunner* runner_before(unsigned flight) const {
    return last_runner_ == &flights_[flight].runner ? nullptr : last_runner_;
  }
  /// After a batch of so many queries that there was too little memory for: makes windows smaller, or batches.
  void take_less(std::size_t queries);
  /// Takes back the queries of a batch that there was too little memory for.
  void give_up(unsigned flight, std::span<GpuQuery* const> queries);
  /// Of the lists of a batch that is being made.
  struct ListSums {
    std::size_t lists = 0;  ///< that are counted
    std::uint64_t words = 0, rows = 0;
  };
  /// Whether the batch's lists so far leave room for more. Brings `sums` up to date.
  bool has_list_room(const gpu::QueryBatch& batch, ListSums& sums) const;
  /// The same for decoded lists.
  bool has_entry_room(const gpu::QueryBatch& batch) const;
  /// The same, and whether its working memory does, and that of `k` results per query.
  bool has_work_room(const gpu::QueryBatch& batch, std::size_t k) const;
  /// Makes the memory for decoded lists, if the strategy decodes any.
  void make_entries();
  /// Brings the batch's lists to the GPU. Throws GpuOutOfMemory.
  void bring_lists(unsigned flight, gpu::QueryBatch& batch);
  /// Opens the store's room for the windows of a flight, once all windows have been copied. Throws GpuOutOfMemory.
  void open_windows(unsigned flight);
  /// Takes room for the decoded lists of a batch's windows; returns its first word. Throws GpuOutOfMemory.
  std::uint64_t take_entry_room(unsigned flight, const gpu::DocumentWindows& windows);
  /// Of a strategy that may: whether it decodes the batch's lists as a whole.
  bool decodes(const gpu::QueryBatch& batch) const;
  /// Gives the batch's lists places where they are decoded to. Throws GpuOutOfMemory.
  void place_entries(unsigned flight, gpu::QueryBatch& batch);

  const QueryEngine& engine_;
  gpu::DeviceIndex index_;
  std::optional<gpu::ListStore> store_;       ///< none: the whole index is on the GPU
  std::unique_ptr<gpu::EntryStore> entries_;  ///< null: the strategy decodes no whole lists
  const gpu::Strategy* strategy_ = nullptr;
  gpu::StrategyOptions strategy_options_;
  bool ends_on_fronts_ = false;  ///< queries for documents with all terms do
  BatchPool batches_;
  gpu::FlightControl control_{num_flights};
  // The rest is used by who launches or has the lock; but what a flight has, also by the thread that has the flight.
  gpu::BatchWork work_;  ///< of the batch that is being made
  std::vector<Flight> flights_;
  gpu::BatchGrowth growth_;
  double window_share_ = 1;                        ///< of what windows could take, as far as memory goes
  bool tried_windows_ = false;                     ///< for the batch that was started last
  gpu::WorkClock making_;                          ///< of a batch
  const gpu::BatchRunner* last_runner_ = nullptr;  ///< the one that started last
};

}  // namespace quern
