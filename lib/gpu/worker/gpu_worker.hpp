#pragma once
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/worker/batch_start.hpp"
#include "quern/gpu/worker/worker_pool.hpp"

/// What batches of ranked queries and of intersections have in common on the host. Host code.
namespace quern::gpu {

/// The state of a flight. A kind of batch derives its own flight from this, which names the type of its items `Item`
/// and adds a `runner`, `windows` (what the runner needs of windows of documents; null if the batch is whole) and
/// `statistics`, a pointer to what the batch's owner counts.
struct WorkerFlight {
  bool has_batch = false;  ///< the GPU works on it
  WindowCopies copies;     ///< of its windows
};

/// What became of a batch.
enum class Landing : std::uint8_t {
  answered,
  not_on_gpu,  ///< the GPU had nothing to do, or too little memory for the only item, which is the CPU's
  again,       ///< the batch must be launched again, perhaps with fewer items
};

/// One GPU: the index in its memory, or those lists of it that batches need, and two flights. While a batch runs, the
/// next one is made and copied. A batch that needs more memory than there is goes by windows of documents or becomes
/// smaller; an item that alone needs too much goes to the CPU. Batches are launched one at a time, by threads that have
/// a flight of control_. Derived classes say what a batch is.
template <class Flight>
class GpuWorker {
 public:
  using Item = typename Flight::Item;
  using Items = std::span<Item* const>;

  GpuWorker(const GpuWorker&) = delete;
  GpuWorker& operator=(const GpuWorker&) = delete;
  virtual ~GpuWorker() = default;

  /// The GPU's number.
  unsigned gpu() const { return index_.gpu(); }

 protected:
  using Runner = decltype(Flight::runner);
  static constexpr unsigned num_flights = batches_in_flight;

  /// `source`: a QueryEngine if batches are scored, else an IndexReader. Throws as DeviceIndex and DeviceListStore do.
  template <class Source>
  GpuWorker(const Source& source, unsigned gpu, const GpuMemoryOptions& memory, Progress& progress)
      : index_(source, gpu, memory, progress) {
    if (!index_.division().whole_index) store_.emplace(index_, memory, progress);
  }

  // A kind of batch. The lock of control_ is held, unless stated otherwise.

  /// Makes a batch of the first of these items, and returns how many it has: as many as fit the GPU's memory with their
  /// lists or, `for_windows`, without.
  virtual std::size_t fill(unsigned number, Items items, bool for_windows) = 0;
  /// Whether the batch fits with its lists.
  virtual bool fits(unsigned number) = 0;
  /// Sets the flight's windows by cut(), for a batch of `count` items that does not fit. False if it can't go by
  /// windows. May make the batch anew, and then changes `count`.
  virtual bool make_windows(unsigned number, Items items, std::size_t& count) = 0;
  /// Reserves what the runner needs for these windows. Throws GpuOutOfMemory.
  virtual void prepare_windows(unsigned number) = 0;
  /// Runs them. Without the lock, in a thread of its own. `after`: the runner whose kernels come before; null: none.
  virtual void run_windows(unsigned number, const Runner* after) = 0;
  /// Brings the batch's lists and starts it, unless the GPU has nothing to do; sets has_batch. May add more of the
  /// items; returns how many the batch has. Throws GpuOutOfMemory.
  virtual std::size_t start_whole(unsigned number, Items items, std::size_t count) = 0;
  /// Called once the batch of these items was started.
  virtual void started(unsigned number, Items items) = 0;
  /// Waits for the batch's results. Without the lock. Throws GpuOutOfMemory if they need too much memory.
  virtual void wait_for_results(unsigned number) = 0;
  /// Ends the batch's use of decoded lists. If it did not run, those that it was to decode are not there.
  virtual void release_decoded(unsigned number, bool ran) noexcept = 0;
  /// Forgets all decoded lists, which no batch uses.
  virtual void clear_decoded() noexcept = 0;
  /// Leaves an item to the CPU.
  virtual void leave_to_cpu(Item& item) = 0;
  /// Makes the next batch need less memory than one of `items` items.
  virtual void take_less(std::size_t items) { growth_.too_many(items); }
  /// The most memory that was taken, by its use.
  virtual MemoryTable memory() const {
    MemoryTable all = index_.memory();
    for (const Flight& flight : flights_)
      for (std::size_t use = 0; use < all.size(); ++use) all[use] += flight.runner.memory()[use];
    return all;
  }
  /// Counts what a batch that has ended did, in the flight's statistics.
  virtual void count(unsigned number) {
    auto& statistics = *flights_[number].statistics;
    if (store_) {
      statistics.lists += store_->take_counts();
      statistics.copy_lists_us += store_->copy_us(number);
    }
    statistics.device += flights_[number].runner.times();
    statistics.take_most(memory());
  }

  // What threads with a flight call, without the lock.

  /// Starts a batch of the first of these items, at least one, and returns how many. Throws CudaError if the GPU fails.
  std::size_t launch(unsigned number, Items items) {
    const auto locked = control_.lock();
    Flight& flight = flights_[number];
    flight.has_batch = false;
    flight.copies.forget();
    const auto start = [&](std::size_t most) { return start_batch(number, items.first(most)); };
    const auto clean_up = [&] {
      drop_batch(number);
      release(number, false);
      // Arrays of earlier batches may be larger than this one needs.
      flight.runner.free_memory();
    };
    try {
      // A thread that waits for its parallel work must not begin other work that waits for the lock.
      const std::size_t count = tbb::this_task_arena::isolate([&] {
        return growth_.start(items.size(), start, clean_up, [this](std::size_t tried) { take_less(tried); });
      });
      if (count == 0) leave_to_cpu(*items.front());
      control_.launched(number);
      return std::max<std::size_t>(count, 1);
    } catch (...) {
      abandon(number);
      throw;
    }
  }
  /// Waits for the flight's batch, and until those that were launched before it are known to be sound. Throws CudaError
  /// if the GPU fails, CorruptFile if lists don't decode.
  Landing land(unsigned number, Items items) {
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
      flight.runner.free_memory();
      release(number, true);
      if (items.size() > 1) {
        take_less(items.size());
        return Landing::again;
      }
      leave_to_cpu(*items.front());
      return Landing::not_on_gpu;
    }
    flight.has_batch = false;
    release(number, true);
    count(number);
    return Landing::answered;
  }

  // What kinds of batches and failing threads use, with the lock.

  /// Waits for a flight whose launch failed, and drops what it has.
  void abandon(unsigned number) noexcept {
    flights_[number].copies.forget();
    drop_batch(number);
    release(number, false);
    if (last_runner_ == &flights_[number].runner) last_runner_ = nullptr;
  }
  /// A batch turned out to be damaged, or the GPU has failed: lists may not have been decoded, or be damaged.
  void forget_lists(unsigned number) noexcept {
    abandon(number);
    // The others keep their batches, and those that are spoiled are launched again.
    for (unsigned other = 0; other < num_flights; ++other) {
      flights_[other].copies.wait();
      if (!flights_[other].has_batch) continue;
      flights_[other].runner.abandon();
      release(other, false);
    }
    clear_decoded();
  }
  /// Brings lists to the GPU. Throws GpuOutOfMemory.
  void bring_lists(unsigned number, std::span<const WantedList> wanted) {
    take_or_free([&] { return store_->acquire(number, wanted); }, [&] { free_lists_of_others(number); },
                 "the lists of a batch do not fit into the GPU's memory");
  }
  /// Waits until no other flight's kernels read lists.
  void free_lists_of_others(unsigned number) {
    wait_for_copies();  // only then have all kernels been enqueued
    for (unsigned other = 0; other < num_flights; ++other) {
      if (other == number || !flights_[other].has_batch) continue;
      making_.wait_for([&] { flights_[other].runner.wait_for_kernels(); });
      release(other, true);
    }
  }
  /// Waits until the windows of all flights have been copied.
  void wait_for_copies() { wait_for_all_copies(flights_, making_); }
  /// Sets the flight's windows to those that `make(words)` makes for a store with room for `words` words per window.
  /// False if that throws GpuOutOfMemory: the blocks of a single range of documents are too many. Throws GpuOutOfMemory
  /// if the store has no room. Windows of the batch before may still be on their way.
  template <class Make>
  bool cut(unsigned number, const Make& make) {
    if (!store_->has_room_for_windows()) open_windows(number);
    try {
      flights_[number].windows = make(store_->words_per_window());
      return true;
    } catch (const GpuOutOfMemory&) {
      store_->release(number);
      return false;
    }
  }
  /// The runner whose kernels come before those of the flight; null if there is none.
  const Runner* runner_before(unsigned number) const {
    return last_runner_ == &flights_[number].runner ? nullptr : last_runner_;
  }

  DeviceIndex index_;
  std::optional<DeviceListStore> store_;  ///< none: the whole index is on the GPU
  FlightControl control_{num_flights};
  // The rest is used with the lock; but what a flight has, also by the thread that has the flight.
  std::vector<Flight> flights_;
  BatchGrowth growth_;
  bool tried_windows_ = false;           ///< for the batch that was started last
  WorkClock making_;                     ///< of a batch
  const Runner* last_runner_ = nullptr;  ///< the one that started last

 private:
  /// Makes and starts a batch of the first of these items; returns how many it has. Throws GpuOutOfMemory.
  std::size_t start_batch(unsigned number, Items items) {
    Flight& flight = flights_[number];
    making_.start();
    tried_windows_ = store_ && index_.division().resident_rows && can_use_windows();
    std::size_t count = fill(number, items, tried_windows_);
    if (tried_windows_ && !fits(number)) {
      tried_windows_ = start_by_windows(number, items, count);
      if (!tried_windows_) {
        count = fill(number, items, false);
        growth_.fitted(count);
      }
    } else {
      tried_windows_ = false;
    }
    if (!tried_windows_) count = start_whole(number, items, count);
    if (flight.has_batch) {
      last_runner_ = &flight.runner;
      ++flight.statistics->batches;
    }
    started(number, items.first(count));
    flight.statistics->prepare_us += making_.us();
    return count;
  }
  /// False, and nothing started, if the batch can't go by windows. Throws GpuOutOfMemory.
  bool start_by_windows(unsigned number, Items items, std::size_t& count) {
    if (!make_windows(number, items, count)) return false;
    prepare_windows(number);
    open_windows(number);
    Flight& flight = flights_[number];
    store_->count(flight.windows->counts(store_->cache()));
    flight.statistics->windows += flight.windows->size();
    flight.has_batch = true;
    // Meanwhile, the next batch is made.
    flight.copies.start([this, number, after = runner_before(number)] { run_windows(number, after); });
    return true;
  }
  /// Opens the store's room for the windows of a flight, once all windows have been copied. Throws GpuOutOfMemory.
  void open_windows(unsigned number) {
    wait_for_copies();
    take_or_free([&] { return store_->open_windows(number); }, [&] { free_lists_of_others(number); },
                 "not enough memory for the lists of a batch");
  }
  /// Waits until the flight's batch has ended, and those that were launched before it are known to be sound. Returns
  /// whether there was enough memory.
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
    flights_[number].runner.abandon();
    flights_[number].has_batch = false;
  }
  /// Ends the use of what the flight's batch has of lists.
  void release(unsigned number, bool ran) noexcept {
    if (store_) store_->release(number);
    release_decoded(number, ran);
  }
  /// Whether batches of this kind may go by windows.
  virtual bool can_use_windows() const { return true; }
};

}  // namespace quern::gpu
