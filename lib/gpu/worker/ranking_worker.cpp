#include "quern/gpu/worker/ranking_worker.hpp"

#include <tbb/parallel_sort.h>

#include <iterator>
#include <tuple>

#include "quern/gpu/device/in_parallel.hpp"

namespace quern {
namespace {

/// Sorts the most expensive queries first. Sorts copies of the keys, since other threads wrote the queries.
void sort_by_cost(std::vector<GpuQuery*>& queries) {
  struct Key {
    std::uint64_t postings;
    std::size_t number;
    GpuQuery* query;
  };
  std::vector<Key> keys;
  keys.reserve(queries.size());
  for (GpuQuery* query : queries) keys.push_back({query->postings, query->number, query});
  tbb::parallel_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(b.postings, a.number) < std::tie(a.postings, b.number);
  });
  for (std::size_t i = 0; i < keys.size(); ++i) queries[i] = keys[i].query;
}

/// With the strategy's needs, unless others are given.
gpu::GpuMemoryOptions with_needs(gpu::GpuMemoryOptions memory, const gpu::Strategy& strategy, const IndexReader& index,
                                 std::size_t max_queries) {
  const gpu::Strategy* one = &strategy;
  if (!memory.needs) memory.needs = gpu::needs_of({&one, 1}, index, max_queries);
  return memory;
}

std::size_t divided_up(std::size_t count, std::size_t by) { return (count + by - 1) / by; }

/// Adds the first of these queries that fit to a batch, and returns their number.
std::size_t add_queries(gpu::QueryBatch& batch, std::span<GpuQuery* const> queries, const gpu::BatchWork& work,
                        const std::function<bool()>& fits) {
  std::vector<gpu::UnbatchedQuery> waiting;
  waiting.reserve(queries.size());
  for (const GpuQuery* query : queries) waiting.push_back({query->lists, query->min_units});
  return batch.add(waiting, work, fits);
}

}  // namespace

QueryQueue::QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus,
                       std::uint64_t fixed_cost, std::size_t min_queries) {
  sort_by_cost(queries);
  const std::size_t count = queries.size();
  if (count == 0) return;
  gpu::BatchLimits<GpuQuery> limits;
  std::size_t batches = divided_up(count, max_queries);
  if (gpus <= 1) {
    limits.queries = divided_up(count, batches);
  } else {
    batches = std::max(batches, std::min(divided_up(count, min_queries), gpus * gpu::batches_per_gpu));
    limits.queries = max_queries;
    limits.cost_of = [fixed_cost](const GpuQuery& query) { return query.postings + fixed_cost; };
    std::uint64_t cost = 0;
    for (const GpuQuery* query : queries) cost += limits.cost_of(*query);
    limits.cost = cost / batches + 1;
  }
  waiting_.start(std::move(queries), std::move(limits));
}

std::vector<GpuQuery*> QueryQueue::take() {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return unsettled_ == 0 || !waiting_.empty(); });
  std::vector<GpuQuery*> batch = waiting_.take();
  if (!batch.empty()) ++unsettled_;
  return batch;
}

void QueryQueue::settle(std::span<GpuQuery* const> back) {
  const std::lock_guard lock(mutex_);
  waiting_.give_back(back);
  --unsettled_;
  settled_.notify_all();
}

void QueryQueue::stop() {
  const std::lock_guard lock(mutex_);
  waiting_.stop();
  settled_.notify_all();
}

RankingWorker::RankingWorker(const QueryEngine& engine, unsigned gpu, const gpu::GpuMemoryOptions& memory,
                             const gpu::Strategy& strategy, const gpu::StrategyOptions& options,
                             std::size_t max_queries, Progress& progress)
    : GpuWorker(engine, gpu, with_needs(memory, strategy, engine.index(), max_queries), progress),
      engine_(engine),
      ends_on_fronts_(gpu::ends_on_fronts(memory, engine)),
      batches_([&engine] { return std::make_unique<gpu::QueryBatch>(engine); }) {
  set_strategy(strategy, options, progress);
}

void RankingWorker::set_strategy(const gpu::Strategy& strategy, const gpu::StrategyOptions& options,
                                 Progress& progress) {
  strategy_ = &strategy;
  strategy_options_ = options;
  last_runner_ = nullptr;
  flights_.clear();
  entries_.reset();
  if (strategy.reads_block_maxima) index_.upload_block_maxima(progress);
  if (strategy.reads_upper_bounds) index_.upload_upper_bounds(engine_, progress);
  for (unsigned i = 0; i < num_flights; ++i)
    flights_.emplace_back(index_, store_ ? &*store_ : nullptr, strategy, options);
  if (strategy.decodes_lists) make_entries();
}

void RankingWorker::make_entries() {
  std::uint64_t left = gpu::all_entry_bytes(index_.index());
  for (const Flight& flight : flights_) {
    const std::uint64_t all = flight.runner->bytes_for_batches();
    left = std::min(left, (all - std::min(all / 4 * 3, index_.division().queries)) * num_flights);
  }
  entries_ = std::make_unique<gpu::EntryStore>(index_, left);
  for (Flight& flight : flights_) flight.runner->use_entries(*entries_);
}

gpu::MemoryTable RankingWorker::memory() const {
  gpu::MemoryTable all = GpuWorker::memory();
  if (entries_) all[static_cast<std::size_t>(gpu::MemoryUse::entries)] += entries_->bytes();
  return all;
}

std::uint64_t RankingWorker::missing_bytes(std::span<const WeightedList> lists) {
  if (!store_) return 0;
  const auto locked = control_.lock();
  const gpu::ListCache& cache = store_->cache();
  std::uint64_t words = 0;
  for (const WeightedList& list : lists)
    if (!cache.has(list.list)) words += cache.words_behind_front(list.list);
  return words * sizeof(std::uint32_t);
}

std::size_t RankingWorker::answer(Queries queries, const RankingWork& work, RankingOutcome& outcome,
                                  const std::function<void(std::size_t queries)>& launched) {
  const auto started = WallClock::now();
  MadeBatch made = make_ahead(queries, work.batch);
  if (made.batch) outcome.statistics.prepare_us += us_since(started);
  const gpu::FlightControl::Flight own(control_);
  Flight& flight = flights_[own.number()];
  flight.work = work;
  flight.statistics = &outcome.statistics;
  flight.batch = std::move(made.batch);
  flight.queries_made_ahead = made.queries;
  gpu::Landing landing = gpu::Landing::again;
  while (landing == gpu::Landing::again) {
    // After the launch, other threads may take the remaining queries.
    queries = queries.first(launch(own.number(), queries));
    try {
      launched(queries.size());
    } catch (...) {
      const auto locked = control_.lock();
      control_.checked(own.number(), false);
      forget_lists(own.number());
      throw;
    }
    landing = land(own.number(), queries);
  }
  flight.batch.reset();
  if (landing == gpu::Landing::answered) take_answers(flight, queries, outcome);
  return queries.size();
}

RankingWorker::MadeBatch RankingWorker::make_ahead(Queries queries, const gpu::BatchWork& work) {
  MadeBatch made;
  if (store_) return made;
  {
    const auto locked = control_.lock();
    queries = queries.first(std::min(queries.size(), growth_.max_queries()));
  }
  made.batch = new_batch(work);
  made.queries = add_queries(*made.batch, queries, work, [&] { return has_work_room(*made.batch, work); });
  note_ends(*made.batch, queries.first(made.queries));
  return made;
}

gpu::QueryBatchPool::Borrowed RankingWorker::new_batch(const gpu::BatchWork& work) {
  auto batch = batches_.borrow();
  batch->clear(store_ && ends_on_fronts_ && work.intersect ? &store_->cache() : nullptr);
  return batch;
}

void RankingWorker::note_ends(const gpu::QueryBatch& batch, Queries queries) {
  if (!batch.fronts()) {
    for (GpuQuery* query : queries) query->end = {};
    return;
  }
  gpu::in_parallel(queries.size(),
                   [&](std::size_t i) { queries[i]->end = gpu::end_of_query(batch, i, queries[i]->lists); });
}

void RankingWorker::sum_lists(const gpu::QueryBatch& batch) {
  const gpu::ListCache& cache = store_->cache();
  if (list_sums_.lists > batch.coded.size()) list_sums_ = {};  // queries were removed again
  for (; list_sums_.lists < batch.coded.size(); ++list_sums_.lists) {
    const PostingList& list = *batch.coded[list_sums_.lists].second;
    list_sums_.words += cache.words_behind_front(list);
    list_sums_.missing_words += cache.missing_words(list);
    list_sums_.rows += cache.rows_behind_front(list);
  }
}

bool RankingWorker::has_list_room(const gpu::QueryBatch& batch) {
  if (!store_ || index_.division().all_lists) return true;
  sum_lists(batch);
  const gpu::ListCache& cache = store_->cache();
  // The other flight's batch needs the same.
  return list_sums_.words <= cache.free_words() / num_flights && list_sums_.rows <= cache.free_rows() / num_flights;
}

bool RankingWorker::has_work_room(const gpu::QueryBatch& batch, const gpu::BatchWork& work) const {
  if (strategy_->batch_bytes(batch, work.k) > bytes_for_batch()) return false;
  if (!entries_) return true;
  const gpu::EntryCache& cache = entries_->cache();
  return batch.entries + batch.lists.size() * cache.words_of(0) <= cache.words_per_batch() || !decodes(batch, work);
}

std::size_t RankingWorker::fill(unsigned number, Queries queries, bool for_windows) {
  Flight& flight = flights_[number];
  if (const std::size_t made = std::exchange(flight.queries_made_ahead, 0); made > 0 && made <= queries.size())
    return made;
  const gpu::BatchWork& work = flight.work.batch;
  flight.batch = new_batch(work);
  list_sums_ = {};
  const gpu::QueryBatch& batch = *flight.batch;
  const std::size_t count = add_queries(*flight.batch, queries, work, [&] {
    return for_windows ? strategy_->batch_bytes(batch, work.k) <= bytes_for_batch() && has_buffer_room(batch)
                       : fits(number);
  });
  if (count == 0) throw GpuOutOfMemory("a batch has too little GPU memory even for one query");
  if (!for_windows || has_buffer_room(batch)) return count;
  // The last query is one too many.
  if (count > 1) return fill(number, queries.first(count - 1), for_windows);
  std::string terms;
  for (const WeightedList& list : queries.front()->lists) terms += " " + engine_.index().term(list.list.number);
  throw InvalidArgument("the query{} misses {} of posting lists, but a list buffer has only {}; raise {}", terms,
                        size_text(list_sums_.missing_words * sizeof(std::uint32_t)),
                        size_text(store_->words_per_window() * sizeof(std::uint32_t)), option_name<"list-buffer">);
}

bool RankingWorker::has_buffer_room(const gpu::QueryBatch& batch) {
  if (!index_.division().buffers_lists) return true;
  sum_lists(batch);
  return list_sums_.missing_words <= store_->words_per_window();
}

bool RankingWorker::make_windows(unsigned number, Queries, std::size_t&) {
  Flight& flight = flights_[number];
  const std::uint64_t entry_words = entries_ ? entries_->cache().words() : 0;
  const auto limits = strategy_->window_limits(
      *flight.batch, flight.work.batch, static_cast<std::uint64_t>(window_factor_ * static_cast<double>(entry_words)));
  if (!limits) return false;
  return cut(number, whole_lists(*flight.batch), [&](std::uint64_t words) {
    gpu::WindowLimits all = *limits;
    all.words = words;
    return std::make_unique<gpu::DocumentWindows>(engine_.index(), flight.batch->batch_lists(), store_->cache(), all);
  });
}

std::vector<gpu::WantedList> RankingWorker::whole_lists(gpu::QueryBatch& batch) {
  std::vector<std::uint32_t> queries(batch.lists.size());
  for (const gpu::BatchTerm& term : batch.terms) ++queries[term.list];
  std::vector<gpu::WantedList> lists;
  lists.reserve(batch.coded.size());
  for (const auto& [number, list] : batch.coded)
    if (!batch.fronts() || !batch.fronts()->is_cut(*list))
      lists.push_back({.list = list, .view = &batch.lists[number], .queries = queries[number]});
  return lists;
}

void RankingWorker::prepare_windows(unsigned number) {
  Flight& flight = flights_[number];
  if (entries_)
    gpu::acquire_or_evict(
        [&] { return entries_->cache().take_room(number, flight.windows->entry_room(), flight.first_entry); },
        [&] { free_lists_of_others(number); }, "not enough memory for the decoded lists of a batch");
  flight.runner->begin_windows(*flight.batch, flight.work.batch);
}

std::size_t RankingWorker::start_whole(unsigned number, Queries, std::size_t count) {
  Flight& flight = flights_[number];
  wait_for_copies();
  bring_lists_of_batch(number);
  place_entries(number);
  flight.runner->start(*flight.batch, flight.work.batch, runner_before(number), may_overlap(number));
  flight.has_batch = true;
  return count;
}

void RankingWorker::bring_lists_of_batch(unsigned number) {
  if (!store_) return;
  const Flight& flight = flights_[number];
  gpu::QueryBatch& batch = *flight.batch;
  const gpu::BatchWork& work = flight.work.batch;
  std::vector<gpu::WantedList> wanted = whole_lists(batch);
  // Batches that read single blocks may need only a few of a list.
  if (work.intersect && strategy_->decodes_lists != nullptr && !decodes(batch, work)) {
    const std::vector<std::uint64_t> blocks = batch.blocks_for_intersections();
    for (gpu::WantedList& each : wanted) each.blocks = blocks[static_cast<std::size_t>(each.view - batch.lists.data())];
  }
  if (batch.fronts())
    for (const auto& [list_number, list] : batch.coded)
      if (batch.fronts()->is_cut(*list)) store_->use_front(*list, batch.lists[list_number]);
  bring_lists(number, wanted);
}

void RankingWorker::place_entries(unsigned number) {
  const Flight& flight = flights_[number];
  flight.batch->entries_of = {};
  if (!entries_ || !decodes(*flight.batch, flight.work.batch)) return;
  const gpu::BatchLists lists = flight.batch->batch_lists();
  gpu::acquire_or_evict([&] { return entries_->cache().acquire(number, lists, flight.batch->entries_of); },
                        [&] { free_lists_of_others(number); },
                        "the decoded lists of a batch do not fit into the GPU's memory");
}

bool RankingWorker::may_overlap(unsigned number) const {
  // The previous batch is the only other one.
  static_assert(num_flights == 2);
  // A larger batch keeps the GPU busy alone.
  constexpr std::size_t max_queries = 256;
  return flights_[number].batch->queries.size() <= max_queries && keeps_all() &&
         !(entries_ && entries_->cache().others_decode(number));
}

void RankingWorker::started(unsigned number, Queries queries) {
  Flight& flight = flights_[number];
  if (store_) note_ends(*flight.batch, queries);
  if (flight.batch->fronts()) store_->count(flight.batch->fronts()->counts());
  if (!by_windows_) flight.batch.reset();
}

void RankingWorker::count(unsigned number) {
  GpuWorker::count(number);
  const Flight& flight = flights_[number];
  flight.statistics->counts += flight.runner->counts();
  if (entries_) flight.statistics->entries += entries_->cache().take_counts();
}

void RankingWorker::take_less(std::size_t queries) {
  constexpr double min_window_factor = 0.1;
  if (by_windows_ && window_factor_ > min_window_factor)
    window_factor_ /= 2;
  else
    GpuWorker::take_less(queries);
}

void RankingWorker::take_answers(const Flight& flight, Queries queries, RankingOutcome& outcome) {
  gpu::in_parallel(queries.size(), [&](std::size_t i) {
    GpuQuery& query = *queries[i];
    gpu::BatchAnswer answer = flight.runner->answer(static_cast<std::uint32_t>(i));
    query.answered = answer.complete;
    query.documents = std::move(answer.documents);
    query.min_units = answer.min_units;
  });
  std::copy_if(queries.begin(), queries.end(), std::back_inserter(outcome.again),
               [](const GpuQuery* query) { return !query->answered; });
  resume_on_cpu(flight, queries);
}

void RankingWorker::resume_on_cpu(const Flight& flight, Queries queries) {
  std::vector<gpu::UnfinishedQuery> unfinished;
  for (GpuQuery* query : queries) {
    if (!query->answered || !query->end.on_front) continue;
    if (gpu::is_complete(engine_, query->end, query->documents, flight.work.batch.k))
      ++flight.statistics->ended_on_front;
    else
      unfinished.push_back({query->lists, query->end.from_cpu, &query->documents});
  }
  flight.work.cpu->resume(unfinished);
}

}  // namespace quern
