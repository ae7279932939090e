#include "quern/gpu/worker/ranking_share.hpp"

#include <tbb/task_arena.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/worker/query_batch.hpp"
#include "quern/gpu/worker/take_or_free.hpp"

namespace quern {
RankingShare::RankingShare(const QueryEngine& engine, unsigned gpu, const gpu::GpuMemoryOptions& memory,
                           const gpu::Strategy& strategy, const gpu::StrategyOptions& options, Progress& progress)
    : engine_(engine),
      index_(engine, gpu, memory, progress),
      ends_on_fronts_(gpu::ends_on_fronts(memory, engine)),
      batches_([&engine] { return std::make_unique<gpu::QueryBatch>(engine); }) {
  if (!index_.division().whole_index) store_.emplace(index_, memory, progress);
  set_strategy(strategy, options, progress);
}

void RankingShare::set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options,
                                Progress& progress) {
  strategy_ = &strategy;
  strategy_options_ = options;
  last_runner_ = nullptr;
  flights_.clear();
  entries_.reset();
  if (strategy.reads_block_maxima) index_.upload_block_maxima(progress);
  if (strategy.reads_upper_bounds) index_.upload_upper_bounds(engine_, progress);
  for (unsigned i = 0; i < num_flights; ++i)
    flights_.emplace_back(gpu::BatchRunner(index_, store_ ? &*store_ : nullptr, strategy, options));
  if (strategy.decodes_lists) make_entries();
}

void RankingShare::make_entries() {
  std::uint64_t left = gpu::all_entry_bytes(index_.index());
  // A quarter is for queries, their candidates and results.
  for (const Flight& flight : flights_) left = std::min(left, flight.runner.bytes_for_batches() / 4 * 3 * num_flights);
  entries_ = std::make_unique<gpu::EntryStore>(index_, left);
  for (Flight& flight : flights_) flight.runner.use_entries(*entries_);
}

gpu::MemoryTable RankingShare::memory() const {
  gpu::MemoryTable all = index_.memory();
  if (entries_) all[static_cast<std::size_t>(gpu::MemoryUse::entries)] += entries_->bytes();
  for (const Flight& flight : flights_)
    for (std::size_t use = 0; use < all.size(); ++use) all[use] += flight.runner.memory()[use];
  return all;
}

std::uint64_t RankingShare::missing_bytes(std::span<const WeightedList> lists) {
  if (!store_) return 0;
  const auto locked = control_.lock();
  const gpu::ListCache& cache = store_->cache();
  std::uint64_t words = 0;
  for (const WeightedList& list : lists)
    if (!cache.has(list.list)) words += cache.words_behind_front(list.list);
  return words * sizeof(std::uint32_t);
}

std::size_t RankingShare::answer(std::span<GpuQuery* const> queries, const RankingWork& work, RankingOutcome& outcome,
                                 const std::function<void(std::size_t queries)>& launched) {
  MadeBatch made = make_ahead(queries, work.batch);
  const gpu::FlightControl::Flight flight(control_);
  Flight& of = flights_[flight.number()];
  of.made = std::move(made);
  of.work = work;
  of.outcome = &outcome;
  for (;;) {
    // Once it is launched, others may have the queries that are left.
    queries = queries.first(launch(flight.number(), queries));
    try {
      launched(queries.size());
    } catch (...) {
      const auto locked = control_.lock();
      control_.checked(flight.number(), false);
      forget_lists(flight.number());
      throw;
    }
    if (land(flight.number(), queries)) return queries.size();
  }
}

std::size_t RankingShare::launch(unsigned flight, std::span<GpuQuery* const> queries) {
  const auto locked = control_.lock();
  Flight& of = flights_[flight];
  of.has_batch = false;
  of.copies.forget();
  work_ = of.work.batch;
  const auto start = [&](std::size_t most) { return start_batch(flight, queries.first(most)); };
  const auto clean_up = [&] {
    of.runner.abandon();
    release(flight, false);
    // Arrays of earlier batches may be larger than this one needs.
    of.runner.free_memory();
  };
  try {
    // A thread that waits for its parallel work must not begin other work that waits for the lock.
    const std::size_t count = tbb::this_task_arena::isolate([&] {
      return growth_.start(queries.size(), start, clean_up, [this](std::size_t tried) { take_less(tried); });
    });
    of.has_batch = count > 0;
    if (!of.has_batch) queries.front()->on_cpu = true;
    control_.launched(flight);
    return std::max<std::size_t>(count, 1);
  } catch (...) {
    abandon(flight);
    throw;
  }
}

bool RankingShare::has_list_room(const gpu::QueryBatch& batch, ListSums& sums) const {
  if (!store_) return true;
  const gpu::ListCache& cache = store_->cache();
  if (sums.lists > batch.coded.size()) sums = {};  // the batch is being made anew
  for (; sums.lists < batch.coded.size(); ++sums.lists) {
    const PostingList& list = *batch.coded[sums.lists].second;
    sums.words += cache.words_behind_front(list);
    sums.rows += cache.rows_behind_front(list);
  }
  // The other flight's batch needs as much.
  return sums.words <= cache.free_words() / num_flights && sums.rows <= cache.free_rows() / num_flights;
}

bool RankingShare::has_entry_room(const gpu::QueryBatch& batch) const {
  if (!entries_) return true;
  const gpu::EntryCache& cache = entries_->cache();
  return batch.entries + batch.lists.size() * cache.words_of(0) <= cache.words_per_batch();
}

bool RankingShare::has_work_room(const gpu::QueryBatch& batch, std::size_t k) const {
  return strategy_->batch_bytes(batch, k) <= bytes_for_batch() && has_entry_room(batch);
}

void RankingShare::release(unsigned flight, bool ran) noexcept {
  if (store_) store_->release(flight);
  if (entries_) entries_->cache().release(flight, ran);
}

bool RankingShare::decodes(const gpu::QueryBatch& batch) const {
  return strategy_->decodes_lists(batch, work_, strategy_options_, entries_ && entries_->cache().has_all_lists());
}

void RankingShare::place_entries(unsigned flight, gpu::QueryBatch& batch) {
  batch.entries_of = {};
  if (!entries_ || !decodes(batch)) return;
  gpu::EntryCache& cache = entries_->cache();
  const gpu::BatchLists lists = batch.batch_lists();
  gpu::take_or_free([&] { return cache.acquire(flight, lists, batch.entries_of); },
                    [&] { free_lists_of_others(flight); },
                    "the decoded lists of a batch do not fit into the GPU's memory");
}

void RankingShare::bring_lists(unsigned flight, gpu::QueryBatch& batch) {
  if (!store_) return;
  // Where blocks are read one by one, few may be enough.
  const bool skips_blocks = work_.intersect && strategy_->decodes_lists != nullptr && !decodes(batch);
  std::vector<std::uint64_t> blocks;
  if (skips_blocks) blocks = batch.blocks_for_intersections();
  std::vector<gpu::WantedList> wanted;
  wanted.reserve(batch.coded.size());
  for (const auto& [number, list] : batch.coded) {
    if (batch.fronts() && batch.fronts()->is_cut(*list))
      store_->use_front(*list, batch.lists[number]);
    else if (skips_blocks)
      wanted.push_back({list, &batch.lists[number], blocks[number]});
    else
      wanted.push_back({list, &batch.lists[number]});
  }
  gpu::take_or_free([&] { return store_->acquire(flight, wanted); }, [&] { free_lists_of_others(flight); },
                    "the lists of a batch do not fit into the GPU's memory");
}

void RankingShare::free_lists_of_others(unsigned flight) {
  gpu::wait_for_all_copies(flights_, making_);  // only then have all kernels been enqueued
  for (unsigned other = 0; other < num_flights; ++other) {
    if (other == flight || !flights_[other].has_batch) continue;
    making_.wait_for([&] { flights_[other].runner.wait_for_kernels(); });
    release(other);
  }
}

void RankingShare::open_windows(unsigned flight) {
  gpu::wait_for_all_copies(flights_, making_);
  gpu::take_or_free([&] { return store_->open_windows(flight); }, [&] { free_lists_of_others(flight); },
                    "no memory is left for the lists of a batch");
}

std::uint64_t RankingShare::take_entry_room(unsigned flight, const gpu::DocumentWindows& windows) {
  if (!entries_) return 0;
  std::uint64_t first = 0;
  gpu::take_or_free([&] { return entries_->cache().take_room(flight, windows.entry_room(), first); },
                    [&] { free_lists_of_others(flight); }, "no memory is left for the decoded lists of a batch");
  return first;
}

bool RankingShare::start_windows(unsigned flight, BatchPool::Borrowed batch, const gpu::WindowLimits& limits) {
  if (!store_->has_room_for_windows()) open_windows(flight);
  // From here on, windows of the batch before may still be on their way.
  Flight& of = flights_[flight];
  gpu::WindowLimits all = limits;
  all.words = store_->words_per_window();
  try {
    of.windows = std::make_unique<gpu::DocumentWindows>(engine_.index(), batch->batch_lists(), store_->cache(), all);
  } catch (const GpuOutOfMemory&) {
    release(flight);
    return false;
  }
  const std::uint64_t first_entry = take_entry_room(flight, *of.windows);
  of.batch = std::move(batch);
  of.runner.begin_windows(*of.batch, work_);
  open_windows(flight);
  gpu::ListCacheCounts counts;
  counts.lists = of.batch->coded.size();
  for (const auto& [number, list] : of.batch->coded) counts.bytes += 4 * store_->cache().words_of(*list);
  counts.copied_bytes = 4 * of.windows->copied_words();
  counts.bytes = std::max(counts.bytes, counts.copied_bytes);  // blocks at the border of two windows are copied twice
  store_->count(counts);
  of.outcome->statistics.windows += of.windows->size();
  // Meanwhile, the next batch is made.
  of.copies.start([this, &of, flight, first_entry, work = work_, after = runner_before(flight)] {
    of.runner.run_windows(work, *of.windows, *store_, flight, first_entry, after);
  });
  return true;
}

bool RankingShare::start_by_windows(unsigned flight, BatchPool::Borrowed& batch) {
  const auto limits = strategy_->window_limits(*batch, work_, entry_words_for_windows());
  return limits && start_windows(flight, std::move(batch), *limits);
}

void RankingShare::start_whole(unsigned flight, gpu::QueryBatch& batch) {
  gpu::wait_for_all_copies(flights_, making_);
  bring_lists(flight, batch);
  place_entries(flight, batch);
  flights_[flight].runner.start(batch, work_, runner_before(flight), may_overlap(flight, batch));
}

bool RankingShare::may_overlap(unsigned flight, const gpu::QueryBatch& batch) const {
  // The batch before is the only other one.
  static_assert(num_flights == 2);
  // More keep the GPU busy alone.
  constexpr std::size_t most_queries = 256;
  return batch.queries.size() <= most_queries && keeps_all() && !(entries_ && entries_->cache().others_decode(flight));
}

RankingShare::BatchPool::Borrowed RankingShare::new_batch(const gpu::BatchWork& work) {
  auto batch = batches_.borrow();
  batch->clear(store_ && ends_on_fronts_ && work.intersect ? &store_->cache() : nullptr);
  return batch;
}

void RankingShare::note_ends(const gpu::QueryBatch& batch, std::span<GpuQuery* const> queries) {
  if (!batch.fronts()) {
    for (GpuQuery* query : queries) query->end = {};
    return;
  }
  gpu::in_parallel(queries.size(),
                   [&](std::size_t i) { queries[i]->end = gpu::end_of_query(batch, i, queries[i]->lists); });
}

void RankingShare::resume_on_cpu(const Flight& of, std::span<GpuQuery* const> queries) {
  std::vector<gpu::UnfinishedQuery> unfinished;
  for (GpuQuery* query : queries) {
    if (!query->answered || !query->end.on_front) continue;
    if (gpu::is_complete(engine_, query->end, query->documents, of.work.batch.k))
      ++of.outcome->statistics.ended_on_front;
    else
      unfinished.push_back({query->lists, query->end.from_cpu, &query->documents});
  }
  of.work.cpu->resume(unfinished);
}

std::size_t RankingShare::fill(gpu::QueryBatch& batch, std::span<GpuQuery* const> queries, const gpu::BatchWork& work,
                               const std::function<bool()>& fits) {
  std::vector<gpu::WaitingQuery> waiting;
  waiting.reserve(queries.size());
  for (const GpuQuery* query : queries) waiting.push_back({query->lists, query->min_units});
  return batch.add(waiting, work, fits);
}

RankingShare::MadeBatch RankingShare::make_ahead(std::span<GpuQuery* const> queries, const gpu::BatchWork& work) {
  MadeBatch made;
  if (store_) return made;
  {
    const auto locked = control_.lock();
    queries = queries.first(std::min(queries.size(), growth_.most()));
  }
  const auto begun = WallClock::now();
  made.batch = new_batch(work);
  made.queries = fill(*made.batch, queries, work, [&] { return has_work_room(*made.batch, work.k); });
  note_ends(*made.batch, queries.first(made.queries));
  made.us = us_since(begun);
  return made;
}

std::size_t RankingShare::start_batch(unsigned flight, std::span<GpuQuery* const> queries) {
  Flight& of = flights_[flight];
  making_.start();
  MadeBatch made = std::exchange(of.made, {});
  if (made.batch && made.queries <= queries.size()) {
    tried_windows_ = false;
    start_whole(flight, *made.batch);
  } else {
    made.us = 0;
    made.queries = make_and_start(flight, queries);
  }
  last_runner_ = &of.runner;
  ++of.outcome->statistics.batches;
  of.outcome->statistics.prepare_us += making_.us() + made.us;
  return made.queries;
}

std::size_t RankingShare::make_and_start(unsigned flight, std::span<GpuQuery* const> queries) {
  auto batch = new_batch(work_);
  ListSums sums;
  const auto queries_fit = [&] { return strategy_->batch_bytes(*batch, work_.k) <= bytes_for_batch(); };
  const auto all_fits = [&] { return has_work_room(*batch, work_.k) && has_list_room(*batch, sums); };
  tried_windows_ = may_use_windows();
  std::size_t count =
      tried_windows_ ? fill(*batch, queries, work_, queries_fit) : fill(*batch, queries, work_, all_fits);
  bool started = false;
  if (tried_windows_ && !all_fits()) {
    started = !has_list_room(*batch, sums) && start_by_windows(flight, batch);
    if (!started) {
      batch = new_batch(work_);
      count = fill(*batch, queries, work_, all_fits);
      growth_.fitted(count);
    }
  }
  if (!started) {
    tried_windows_ = false;
    start_whole(flight, *batch);
  }
  const gpu::QueryBatch& made = started ? *flights_[flight].batch : *batch;
  note_ends(made, queries.first(count));
  if (made.fronts()) store_->count(made.fronts()->counts());
  return count;
}

bool RankingShare::land(unsigned flight, std::span<GpuQuery* const> queries) {
  Flight& of = flights_[flight];
  const bool enough_memory = wait_for_end(flight);
  {
    const auto locked = control_.lock();
    control_.checked(flight, true);
    if (!of.has_batch) return true;
    if (control_.is_spoiled(flight)) {
      abandon(flight);
      return false;
    }
    if (!enough_memory) {
      give_up(flight, queries);
      return true;
    }
    of.has_batch = false;
    release(flight);
    count(flight);
  }
  gpu::in_parallel(queries.size(), [&](std::size_t i) {
    GpuQuery& query = *queries[i];
    gpu::BatchAnswer answer = of.runner.answer(static_cast<std::uint32_t>(i));
    query.answered = answer.complete;
    query.documents = std::move(answer.documents);
    query.min_units = answer.min_units;
  });
  std::copy_if(queries.begin(), queries.end(), std::back_inserter(of.outcome->again),
               [](const GpuQuery* query) { return !query->answered; });
  resume_on_cpu(of, queries);
  return true;
}

bool RankingShare::wait_for_end(unsigned flight) {
  const Flight& of = flights_[flight];
  bool enough_memory = true;
  try {
    if (of.has_batch) {
      enough_memory = of.copies.finish();
      if (enough_memory) flights_[flight].runner.wait();
    }
  } catch (...) {
    const auto locked = control_.lock();
    control_.checked(flight, false);
    forget_lists(flight);
    throw;
  }
  control_.wait_for_earlier(flight);
  return enough_memory;
}

void RankingShare::count(unsigned flight) {
  const Flight& of = flights_[flight];
  GpuStatistics& statistics = of.outcome->statistics;
  if (entries_) statistics.entries += entries_->cache().take_counts();
  if (store_) {
    statistics.lists += store_->take_counts();
    statistics.copy_lists_us += store_->copy_us(flight);
  }
  statistics.device += of.runner.times();
  statistics.counts += of.runner.counts();
  const gpu::MemoryTable taken = memory();
  for (std::size_t use = 0; use < taken.size(); ++use)
    statistics.memory[use] = std::max(statistics.memory[use], taken[use]);
}

void RankingShare::take_less(std::size_t queries) {
  constexpr double min_window_share = 0.1;
  if (tried_windows_ && window_share_ > min_window_share)
    window_share_ /= 2;
  else
    growth_.too_many(queries);
}

void RankingShare::give_up(unsigned flight, std::span<GpuQuery* const> queries) {
  flights_[flight].runner.abandon();
  flights_[flight].runner.free_memory();
  flights_[flight].has_batch = false;
  release(flight, false);
  if (queries.size() == 1) {
    queries.front()->on_cpu = true;
    return;
  }
  take_less(queries.size());
  for (GpuQuery* query : queries) flights_[flight].outcome->again.push_back(query);
}

void RankingShare::abandon(unsigned flight) noexcept {
  Flight& of = flights_[flight];
  of.copies.forget();
  of.runner.abandon();
  of.has_batch = false;
  release(flight, false);
  if (last_runner_ == &of.runner) last_runner_ = nullptr;
}

void RankingShare::forget_lists(unsigned flight) noexcept {
  abandon(flight);
  // The others keep their batches, and those that are spoiled launch them again.
  for (unsigned other = 0; other < num_flights; ++other) {
    flights_[other].copies.wait();
    if (!flights_[other].has_batch) continue;
    flights_[other].runner.abandon();
    release(other, false);
  }
  if (entries_) entries_->cache().clear();
}

}  // namespace quern
