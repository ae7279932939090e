#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "quern/gpu/engine/batch_growth.hpp"
#include "quern/gpu/engine/batch_runner.hpp"
#include "quern/gpu/engine/fronts.hpp"
#include "quern/gpu/engine/gpu_statistics.hpp"
#include "quern/gpu/engine/pipeline.hpp"
#include "quern/gpu/engine/resume_pool.hpp"
#include "quern/gpu/engine/window_copies.hpp"
#include "quern/gpu/engine/work_clock.hpp"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/store/entry_store.hpp"
#include "quern/query/query_engine.hpp"

namespace quern {

/// A query on its way to a GPU and back. Owned by the thread that took it from a QueryQueue.
struct GpuQuery {
  std::size_t number = 0;  ///< in the order of the texts
  std::span<const WeightedList> lists;
  std::vector<ScoredDocument> documents;
  std::uint64_t postings = 0;   ///< in its lists
  std::uint32_t min_units = 0;  ///< minimum units of a result, if known from an earlier run
  bool all_found = false, answered = false, on_cpu = false;
  gpu::QueryEnd end;  ///< of the batch that it was in last
};

/// Queries that wait for a GPU, the most expensive first, so that thread blocks finish at about the same time.
class QueryQueue : public gpu::WorkQueue<GpuQuery> {
 public:
  /// Batches have at most `max_queries` queries. For one GPU, all batches have the same size but, with `small_first`,
  /// the first ones: see first_batch_queries. For several GPUs, they have the same cost (postings, plus `fixed_cost`
  /// per query), and there are a few per GPU, so that all GPUs finish at about the same time.
  QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus, std::uint64_t fixed_cost,
             bool small_first = false);

  /// The number of batches that was planned for the queries.
  std::size_t batches() const { return batches_; }

 private:
  std::size_t batches_ = 0;
};

/// The outcome of the batches that a GPU took, apart from documents.
struct RankingOutcome {
  GpuStatistics statistics;
  std::vector<GpuQuery*> again;  ///< queries with more candidates than a GPU stores, which must run again
};

/// One GPU's share of ranked queries: the index in its memory, or those lists of it that batches need, and two runners
/// that alternate. A batch that needs more memory than there is becomes smaller; a query that alone needs too much goes
/// to the CPU.
class RankingShare final : public gpu::GpuShare<GpuQuery> {
 public:
  /// Throws as DeviceIndex and ListStore do.
  RankingShare(const QueryEngine& engine, unsigned gpu, const gpu::GpuMemoryOptions& memory,
               const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);

  unsigned gpu() const override { return index_.gpu(); }
  /// GPU memory that stays taken: tables, rows, and lists, coded and decoded, or the room for them.
  std::uint64_t device_bytes() const { return index_.account().taken() + (entries_ ? entries_->bytes() : 0); }
  /// Whether all lists stay in the GPU's memory, decoded if the strategy decodes them: no batch brings any.
  bool keeps_all() const { return !store_ && (!entries_ || entries_->cache().has_all_lists()); }
  /// The most memory that was taken, by its use.
  gpu::MemoryTable memory() const;
  /// Sets the strategy of later batches. Throws CudaError if its working memory doesn't fit; another strategy must then
  /// be set.
  void set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress);
  /// Sets what later batches compute, and who goes on with queries that end on fronts.
  void set_work(const gpu::BatchWork& work, gpu::ResumePool& cpu) {
    work_ = work;
    cpu_ = &cpu;
  }
  /// Returns what was done since the last call.
  RankingOutcome take_outcome() { return std::exchange(outcome_, {}); }

 private:
  /// A batch in flight, or none: its only query went to the CPU.
  struct Flight {
    explicit Flight(gpu::BatchRunner of) : runner(std::move(of)) {}

    gpu::BatchRunner runner;
    bool has_batch = false;
    std::unique_ptr<gpu::QueryBatch> batch;         ///< if it goes through windows of documents
    std::unique_ptr<gpu::DocumentWindows> windows;  ///< likewise
    gpu::WindowCopies copies;                       ///< of these windows
  };

  std::size_t launch(unsigned flight, std::span<GpuQuery* const> queries) override;
  void land(unsigned flight, std::span<GpuQuery* const> queries) override;
  void abandon() noexcept override;

  /// Makes and starts a batch of the first of these queries. Throws GpuOutOfMemory.
  std::size_t start_batch(unsigned flight, std::span<GpuQuery* const> queries);
  /// A batch without queries, of whole lists or of those parts that are there.
  std::unique_ptr<gpu::QueryBatch> new_batch() const;
  /// Notes how far a batch looks for the documents of its queries.
  void note_ends(const gpu::QueryBatch& batch, std::span<GpuQuery* const> queries);
  /// Hands queries over to the CPU that have ended on fronts, unless they are complete.
  void resume_on_cpu(std::span<GpuQuery* const> queries);
  /// Starts a batch whose lists do not fit the GPU's memory together. False, and nothing started, if the blocks of a
  /// range do not fit either. Throws GpuOutOfMemory.
  bool start_windows(unsigned flight, std::unique_ptr<gpu::QueryBatch> batch, const gpu::WindowLimits& limits);
  /// The same with as large windows as memory allows. The batch is taken, also if nothing is started.
  bool start_by_windows(unsigned flight, std::unique_ptr<gpu::QueryBatch>& batch);
  /// Starts a batch whose lists fit. Throws GpuOutOfMemory.
  void start_whole(unsigned flight, gpu::QueryBatch& batch);
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
  void release(unsigned flight, bool ran = true);
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
  /// The same, and whether its working memory does.
  bool has_room(const gpu::QueryBatch& batch, ListSums& sums) const;
  /// Makes the memory for decoded lists, if the strategy decodes any.
  void make_entries();
  /// Brings the batch's lists to the GPU. Throws GpuOutOfMemory.
  void bring_lists(unsigned flight, gpu::QueryBatch& batch);
  /// Opens the store's room for the windows of a flight, once all windows have been copied. Throws GpuOutOfMemory.
  void open_windows(unsigned flight);
  /// Takes room for the decoded lists of a batch's windows; returns its first word. Throws GpuOutOfMemory.
  std::uint64_t take_entry_room(unsigned flight, const gpu::DocumentWindows& windows);
  /// Gives the batch's lists places where they are decoded to. Throws GpuOutOfMemory.
  void place_entries(unsigned flight, gpu::QueryBatch& batch);

  const QueryEngine& engine_;
  gpu::DeviceIndex index_;
  std::optional<gpu::ListStore> store_;       ///< none: the whole index is on the GPU
  std::unique_ptr<gpu::EntryStore> entries_;  ///< null: the strategy decodes no whole lists
  const gpu::Strategy* strategy_ = nullptr;
  bool ends_on_fronts_ = false;     ///< queries for documents with all terms do
  gpu::ResumePool* cpu_ = nullptr;  ///< goes on with them
  gpu::BatchWork work_;
  RankingOutcome outcome_;
  std::vector<Flight> flights_;
  gpu::BatchGrowth growth_;
  double window_share_ = 1;                        ///< of what windows could take, as far as memory goes
  bool tried_windows_ = false;                     ///< for the batch that was started last
  gpu::WorkClock making_;                          ///< of a batch
  const gpu::BatchRunner* last_runner_ = nullptr;  ///< the one that started last
};

}  // namespace quern
