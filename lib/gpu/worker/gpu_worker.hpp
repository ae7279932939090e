#pragma once
#include <tbb/task_arena.h>

#include <deque>
#include <future>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/worker/worker_pool.hpp"

/// The host's side of batches of ranked queries and of intersections. Host code.
namespace quern::gpu {

/// Measures a host thread's work without its waits. For one thread.
class WorkClock {
 public:
  void start() {
    begun_ = WallClock::now();
    waited_us_ = 0;
  }
  /// Microseconds of work since start().
  double us() const { return us_since(begun_) - waited_us_; }
  /// Calls wait() without counting its time. Throws what it throws.
  template <class Wait>
  void wait_for(const Wait& wait) {
    struct Waiting {
      double& sum_us;
      WallClock::time_point begun = WallClock::now();
      ~Waiting() { sum_us += us_since(begun); }
    } const waiting{waited_us_};
    wait();
  }

 private:
  WallClock::time_point begun_ = WallClock::now();
  double waited_us_ = 0;
};

/// The thread that copies a batch's windows while the next batch is made. Several threads may call wait() and finish(),
/// but not while another calls start() or forget().
class WindowCopies {
 public:
  /// Runs `copy` in a new thread. The previous one must have ended.
  template <class Copy>
  void start(Copy copy) {
    copying_ = std::async(std::launch::async, std::move(copy)).share();
  }
  /// Waits for the thread, if any, and ignores its outcome.
  void wait() const {
    if (copying_.valid()) copying_.wait();
  }
  /// Waits for the thread, if any. False if it threw GpuOutOfMemory. Rethrows other exceptions.
  bool finish() const {
    if (!copying_.valid()) return true;
    try {
      copying_.get();
      return true;
    } catch (const GpuOutOfMemory&) {
      return false;
    }
  }
  /// Waits for the thread, if any, and drops it.
  void forget() noexcept {
    if (copying_.valid()) copying_.wait();
    copying_ = {};
  }

 private:
  std::shared_future<void> copying_;
};

/// Calls `take()`, which returns whether there was enough memory. If not, calls `free_others()`, which waits for other
/// batches and frees their memory, and tries once more. Throws GpuOutOfMemory if that fails too.
template <class Take, class FreeOthers>
void acquire_or_evict(const Take& take, const FreeOthers& free_others, const char* message) {
  if (take()) return;
  free_others();
  if (!take()) throw GpuOutOfMemory(message);
}

/// Adapts the maximum size of batches to the available memory. Host code, for one thread.
class BatchGrowth {
 public:
  std::size_t max_queries() const { return max_queries_; }
  /// Notes that a batch of `queries` queries was started.
  void started(std::size_t queries) {
    // More may fit by now.
    if (queries == max_queries_) max_queries_ *= 2;
  }
  /// Notes that memory was too small for a batch of `queries` queries, at least two.
  void too_many(std::size_t queries) { max_queries_ = queries / 2; }
  /// Notes that a batch can't run in windows, and that `queries` of its queries fit without.
  void fitted(std::size_t queries) {
    // Don't retry with every waiting query.
    max_queries_ = std::max<std::size_t>(queries, 1) * 2;
  }

  /// Starts a batch of the first of `waiting` queries; returns their number, or 0 if memory is too small for the first
  /// one alone. `start_batch(queries)` returns the number of queries that it took, at least one, or throws
  /// GpuOutOfMemory; then `clean_up()` undoes the attempt and frees memory, and after a second failure
  /// `take_less(queries)` makes the next attempt need less, by too_many() or otherwise. Throws other errors of these.
  template <class StartBatch, class CleanUp, class TakeLess>
  std::size_t start(std::size_t waiting, const StartBatch& start_batch, const CleanUp& clean_up,
                    const TakeLess& take_less) {
    for (bool freed = false;; freed = true) {
      waiting = std::min(waiting, max_queries_);
      try {
        const std::size_t count = start_batch(waiting);
        started(count);
        return count;
      } catch (const GpuOutOfMemory&) {
        // Try again below.
      }
      clean_up();
      // After the first failure, freeing memory may be enough.
      if (!freed) continue;
      if (waiting == 1) return 0;
      take_less(waiting);
    }
  }

 private:
  std::size_t max_queries_ = max_batch_queries;
};

/// The state of a flight. Each kind of batch derives its own flight, which names the type of its queries `Query` and
/// adds pointers `runner`, `windows` (the runner's windows of documents; null if the batch is whole) and `statistics`.
struct WorkerFlight {
  bool has_batch = false;  ///< the GPU works on a batch
  WindowCopies copies;     ///< of the batch's windows
};

/// The outcome of a batch.
enum class Landing : std::uint8_t {
  answered,
  not_on_gpu,  ///< the GPU had nothing to do, or too little memory for the only query, which is left to the CPU
  again,       ///< the batch must be launched again, perhaps with fewer queries
};

/// One GPU: the index or the lists that batches need in its memory, and two flights. While a batch runs, the next one
/// is made and copied. A batch that exceeds the memory runs in windows of documents or becomes smaller; a query that
/// alone exceeds it goes to the CPU. Batches are launched one at a time, by threads that have a flight of control_.
/// Derived classes define a kind of batch.
template <class Flight>
class GpuWorker {
 public:
  using Query = typename Flight::Query;
  using Queries = std::span<Query* const>;

  virtual ~GpuWorker() = default;

  unsigned gpu() const { return index_.gpu(); }

 protected:
  using Runner = typename decltype(Flight::runner)::element_type;
  static constexpr unsigned num_flights = batches_in_flight;

  /// `source`: a QueryEngine if batches are scored, else an IndexReader. Throws like DeviceIndex and DeviceListStore.
  template <class Source>
  GpuWorker(const Source& source, unsigned gpu, const GpuMemoryOptions& memory, Progress& progress)
      : index_(source, gpu, memory, progress) {
    if (!index_.division().whole_index) store_.emplace(index_, memory, progress);
  }

  // A kind of batch. Called with the lock of control_, unless stated otherwise.

  /// Makes a batch of the first of these queries, and returns its size: as many as fit the GPU's memory with their
  /// lists or, `for_windows`, without.
  virtual std::size_t fill(unsigned number, Queries queries, bool for_windows) = 0;
  /// Whether the batch fits with its lists.
  virtual bool fits(unsigned number) = 0;
  /// Sets the flight's windows by cut(), for a batch of `count` queries that does not fit. False if it can't run in
  /// windows. May remake the batch, and then changes `count`.
  virtual bool make_windows(unsigned number, Queries queries, std::size_t& count) = 0;
  /// Reserves the runner's memory for these windows. Throws GpuOutOfMemory.
  virtual void prepare_windows(unsigned number) = 0;
  /// Runs the windows. Without the lock, in a separate thread. `after`: the runner whose kernels come before, or null.
  virtual void run_windows(unsigned number, const Runner* after) = 0;
  /// Copies the batch's lists and starts it, unless the GPU has nothing to do; sets has_batch. May add more of the
  /// queries; returns the batch's size. Throws GpuOutOfMemory.
  virtual std::size_t start_whole(unsigned number, Queries queries, std::size_t count) = 0;
  /// Called when the batch of these queries has been started.
  virtual void started(unsigned number, Queries queries) = 0;
  /// Waits for the batch's results. Without the lock. Throws GpuOutOfMemory if they need too much memory.
  virtual void wait_for_results(unsigned number) = 0;
  /// Ends the batch's use of decoded lists. If it did not run, drops those that it should have decoded.
  virtual void release_decoded(unsigned number, bool ran) noexcept = 0;
  /// Forgets all decoded lists, which no batch uses.
  virtual void clear_decoded() noexcept = 0;
  virtual void leave_to_cpu(Query& query) = 0;
  /// Makes the next batch need less memory than one of `queries` queries.
  virtual void take_less(std::size_t queries) { growth_.too_many(queries); }
  /// Peak memory, by use.
  virtual MemoryTable memory() const {
    MemoryTable all = index_.memory();
    for (const Flight& flight : flights_)
      for (std::size_t use = 0; use < all.size(); ++use) all[use] += flight.runner->memory()[use];
    return all;
  }
  /// Adds an ended batch to the flight's statistics.
  virtual void count(unsigned number) {
    auto& statistics = *flights_[number].statistics;
    if (store_) {
      statistics.lists += store_->take_counts();
      statistics.copy_lists_us += store_->copy_us(number);
    }
    statistics.device += flights_[number].runner->times();
    note_peak(statistics);
  }
  void note_peak(GpuWorkStatistics& statistics) const {
    const MemoryAccount& all = index_.whole_account();
    statistics.note_peak(memory(), all.peak_taken(), all.limit());
  }

  // For threads that have a flight, without the lock.

  /// Starts a batch of the first of these queries, at least one; returns its size. Throws CudaError if the GPU fails.
  std::size_t launch(unsigned number, Queries queries) {
    const auto locked = control_.lock();
    Flight& flight = flights_[number];
    flight.has_batch = false;
    flight.copies.forget();
    const auto start = [&](std::size_t count) { return start_batch(number, queries.first(count)); };
    const auto clean_up = [&] {
      drop_batch(number);
      release(number, false);
      // Arrays of earlier batches may be larger than this one needs.
      flight.runner->free_memory();
    };
    try {
      // A thread that waits for parallel work must not take work that waits for the lock.
      const std::size_t count = tbb::this_task_arena::isolate([&] {
        return growth_.start(queries.size(), start, clean_up, [this](std::size_t tried) { take_less(tried); });
      });
      if (count == 0) leave_to_cpu(*queries.front());
      control_.launched(number);
      return std::max<std::size_t>(count, 1);
    } catch (...) {
      abandon(number);
      throw;
    }
  }
  /// Waits for the flight's batch, and until all earlier batches are checked. Throws CudaError if the GPU fails,
  /// CorruptFile if lists don't decode.
  Landing land(unsigned number, Queries queries) {
    const bool enough_memory = wait_for_end(number);
    const auto locked = control_.lock();
    control_.checked(number, true);
    Flight& flight = flights_[number];
    if (!flight.has_batch) return Landing::not_on_gpu;
    if (control_.is_spoiled(number)) {
      abandon(number);
      return Landing::again;
    }
    if (!enough_memory) {
      drop_batch(number);
      flight.runner->free_memory();
      release(number, true);
      if (queries.size() > 1) {
        take_less(queries.size());
        return Landing::again;
      }
      leave_to_cpu(*queries.front());
      return Landing::not_on_gpu;
    }
    flight.has_batch = false;
    release(number, true);
    count(number);
    return Landing::answered;
  }

  // For derived classes and failing threads, with the lock.

  /// Waits for a flight whose launch failed, and drops its batch and lists.
  void abandon(unsigned number) noexcept {
    flights_[number].copies.forget();
    drop_batch(number);
    release(number, false);
    if (last_runner_ == flights_[number].runner.get()) last_runner_ = nullptr;
  }
  /// Forgets all decoded lists, which may be incomplete or damaged after a damaged batch or a failure of the GPU.
  void forget_lists(unsigned number) noexcept {
    abandon(number);
    // Other flights keep their batches; spoiled ones are relaunched.
    for (unsigned other = 0; other < num_flights; ++other) {
      flights_[other].copies.wait();
      if (!flights_[other].has_batch) continue;
      flights_[other].runner->abandon();
      release(other, false);
    }
    clear_decoded();
  }
  /// Copies missing lists to the GPU. Throws GpuOutOfMemory.
  void bring_lists(unsigned number, std::span<const WantedList> wanted) {
    acquire_or_evict([&] { return store_->acquire(number, wanted); }, [&] { free_lists_of_others(number); },
                     "the lists of a batch do not fit into the GPU's memory");
  }
  /// Waits until no other flight's kernels read lists.
  void free_lists_of_others(unsigned number) {
    wait_for_copies();  // otherwise some kernels may not be enqueued yet
    for (unsigned other = 0; other < num_flights; ++other) {
      if (other == number || !flights_[other].has_batch) continue;
      making_.wait_for([&] { flights_[other].runner->wait_for_kernels(); });
      release(other, true);
    }
  }
  /// Waits for the windows of all flights, since the store serves one at a time.
  void wait_for_copies() {
    making_.wait_for([&] {
      for (const Flight& flight : flights_) flight.copies.wait();
    });
  }
  /// Sets the flight's windows to the result of `make(words)`, for `words` words per window. False if that throws
  /// GpuOutOfMemory, since a single range of documents is too large. Windows of the previous batch may still be in
  /// transfer. `lists`: the batch's, some of which stay in memory.
  template <class Make>
  bool cut(unsigned number, std::span<const WantedList> lists, const Make& make) {
    store_->hold(number, lists);
    try {
      flights_[number].windows = make(store_->words_per_window());
      return true;
    } catch (const GpuOutOfMemory&) {
      store_->release(number);
      return false;
    }
  }
  /// The runner whose kernels come before the flight's; null if there is none.
  const Runner* runner_before(unsigned number) const {
    return last_runner_ == flights_[number].runner.get() ? nullptr : last_runner_;
  }

  DeviceIndex index_;
  std::optional<DeviceListStore> store_;  ///< empty if the whole index is on the GPU
  FlightControl control_{num_flights};
  // The other members are guarded by the lock, but a flight also belongs to the thread that has it.
  std::deque<Flight> flights_;
  BatchGrowth growth_;
  bool by_windows_ = false;              ///< whether the batch in the making, or the last one, runs in windows
  WorkClock making_;                     ///< measures the preparation of batches
  const Runner* last_runner_ = nullptr;  ///< of the last started batch

 private:
  /// Makes and starts a batch of the first of these queries; returns its size. Throws GpuOutOfMemory.
  std::size_t start_batch(unsigned number, Queries queries) {
    Flight& flight = flights_[number];
    making_.start();
    by_windows_ = store_ && store_->words_per_window() > 0 && can_use_windows();
    std::size_t count = fill(number, queries, by_windows_);
    if (by_windows_ && fits(number)) {
      by_windows_ = false;
    } else if (by_windows_ && !(by_windows_ = start_by_windows(number, queries, count))) {
      count = fill(number, queries, false);
      growth_.fitted(count);
    }
    if (!by_windows_) count = start_whole(number, queries, count);
    if (flight.has_batch) {
      last_runner_ = flight.runner.get();
      ++flight.statistics->batches;
    }
    started(number, queries.first(count));
    flight.statistics->prepare_us += making_.us();
    return count;
  }
  /// False, without effect, if the batch can't run in windows. Throws GpuOutOfMemory.
  bool start_by_windows(unsigned number, Queries queries, std::size_t& count) {
    if (!make_windows(number, queries, count)) return false;
    prepare_windows(number);
    wait_for_copies();
    store_->open_windows();
    Flight& flight = flights_[number];
    store_->count(flight.windows->counts(store_->cache()));
    flight.statistics->windows += flight.windows->size();
    flight.has_batch = true;
    // Meanwhile, the next batch is made.
    flight.copies.start([this, number, after = runner_before(number)] { run_windows(number, after); });
    return true;
  }
  /// Waits until the batch has ended and all earlier ones are checked. Returns whether there was enough memory.
  bool wait_for_end(unsigned number) {
    Flight& flight = flights_[number];
    bool enough_memory = true;
    try {
      if (flight.has_batch && (enough_memory = flight.copies.finish())) wait_for_results(number);
    } catch (const GpuOutOfMemory&) {
      enough_memory = false;
    } catch (...) {
      const auto locked = control_.lock();
      control_.checked(number, false);
      forget_lists(number);
      throw;
    }
    control_.wait_for_earlier(number);
    return enough_memory;
  }
  void drop_batch(unsigned number) noexcept {
    flights_[number].runner->abandon();
    flights_[number].has_batch = false;
  }
  void release(unsigned number, bool ran) noexcept {
    if (store_) store_->release(number);
    release_decoded(number, ran);
  }
  /// Whether batches of this kind may run in windows.
  virtual bool can_use_windows() const { return true; }
};

}  // namespace quern::gpu
