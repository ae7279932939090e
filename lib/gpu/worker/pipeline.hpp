#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/core/resources.hpp"
#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/device/in_parallel.hpp"

/// A pipeline of batches on several GPUs, for any kind of work: a queue that all GPUs take from, a share for each GPU
/// with two batches in flight, and fail-over of a lost GPU's work to the others. Host code.
namespace quern::gpu {

/// The numbers of `count` GPUs from `first` on, or of all from `first` on if `count` is 0. Throws CudaError if the
/// machine has no GPU or the build has no CUDA; InvalidArgument, with the number of GPUs, if there are fewer.
std::vector<unsigned> gpu_numbers(unsigned first, unsigned count);

/// The size of batches: a batch ends when it reaches either limit.
template <class Item>
struct BatchLimits {
  std::size_t items = std::numeric_limits<std::size_t>::max();  ///< maximum items
  std::uint64_t cost = std::numeric_limits<std::uint64_t>::max();
  std::function<std::uint64_t(const Item&)> cost_of = nullptr;  ///< null: items cost nothing
};

/// Items that wait for a GPU, in order. An item goes to one GPU, which owns it until it gives it back. Thread-safe.
template <class Item>
class WorkQueue {
 public:
  WorkQueue() = default;
  WorkQueue(std::vector<Item*> items, BatchLimits<Item> limits) { start(std::move(items), std::move(limits)); }

  /// Takes the place of all that waits. Before others use the queue.
  void start(std::vector<Item*> items, BatchLimits<Item> limits) {
    limits_ = std::move(limits);
    waiting_.assign(items.rbegin(), items.rend());
  }
  /// Takes the next batch; empty if no item waits.
  std::vector<Item*> take() {
    const std::lock_guard lock(mutex_);
    std::vector<Item*> batch;
    for (std::uint64_t cost = 0; !waiting_.empty() && batch.size() < limits_.items && cost < limits_.cost;) {
      batch.push_back(waiting_.back());
      waiting_.pop_back();
      if (limits_.cost_of) cost += limits_.cost_of(*batch.back());
    }
    return batch;
  }
  /// Puts items that a GPU took but did not process before all others, in the given order.
  void give_back(std::span<Item* const> items) {
    const std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), items.rbegin(), items.rend());
  }
  /// Drops all waiting items.
  void stop() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty();
  }

 private:
  BatchLimits<Item> limits_;
  mutable std::mutex mutex_;
  std::vector<Item*> waiting_;  ///< the next one last
};

/// One GPU's share of the work. While a batch runs, the next one is made and copied. Not thread-safe.
template <class Item>
class GpuShare {
 public:
  GpuShare() = default;
  GpuShare(const GpuShare&) = delete;
  GpuShare& operator=(const GpuShare&) = delete;
  virtual ~GpuShare() = default;

  /// The GPU's number.
  virtual unsigned gpu() const = 0;

  /// Processes batches until the queue is empty. If the GPU fails, gives its unfinished items back to the queue and
  /// throws CudaError. If anything else fails, stops the queue and rethrows that error.
  void process(WorkQueue<Item>& queue) {
    try {
      process_all(queue);
    } catch (const CudaError&) {
      queue.give_back(abandon_all());
      throw;
    } catch (...) {
      queue.stop();
      abandon_all();
      throw;
    }
  }

 protected:
  static constexpr unsigned num_flights = batches_in_flight;

  /// Starts a batch with the first of these items, at least one, and returns how many it has. `flight` is free.
  virtual std::size_t launch(unsigned flight, std::span<Item* const> items) = 0;
  /// Waits for the flight's batch and takes its results.
  virtual void land(unsigned flight, std::span<Item* const> items) = 0;
  /// Waits for all flights and drops their results and errors.
  virtual void abandon() noexcept = 0;

 private:
  void process_all(WorkQueue<Item>& queue) {
    unsigned next = 0;
    for (taken_ = queue.take(); !taken_.empty(); taken_ = queue.take()) {
      for (; !taken_.empty(); next = (next + 1) % num_flights) {
        land_if_any(next);
        const auto end = taken_.begin() + static_cast<std::ptrdiff_t>(launch(next, taken_));
        in_flight_[next].assign(taken_.begin(), end);
        taken_.erase(taken_.begin(), end);
      }
    }
    for (unsigned i = 0; i < num_flights; ++i) land_if_any((next + i) % num_flights);
    oldest_ = 0;
  }
  void land_if_any(unsigned flight) {
    if (in_flight_[flight].empty()) return;
    oldest_ = flight;
    land(flight, in_flight_[flight]);
    in_flight_[flight].clear();
  }
  /// Abandons all flights and returns the unfinished items, in order.
  std::vector<Item*> abandon_all() {
    abandon();
    std::vector<Item*> unfinished;
    for (unsigned i = 0; i < num_flights; ++i) {
      std::vector<Item*>& items = in_flight_[(oldest_ + i) % num_flights];
      unfinished.insert(unfinished.end(), items.begin(), items.end());
      items.clear();
    }
    unfinished.insert(unfinished.end(), taken_.begin(), taken_.end());
    taken_.clear();
    return unfinished;
  }

  std::vector<Item*> taken_;  ///< from the queue, not yet in flight
  std::vector<Item*> in_flight_[num_flights];
  unsigned oldest_ = 0;  ///< the flight that landed last, or is about to
};

/// Takes results from several threads in any order, and delivers them in order in one thread.
template <class Result>
class ResultsInOrder {
 public:
  explicit ResultsInOrder(std::size_t count) : results_(count), present_(count) {}

  /// Stores the result of a place. Called once per place, by any thread.
  void put(std::size_t place, Result result) {
    const std::lock_guard lock(mutex_);
    results_[place] = std::move(result);
    present_[place] = true;
    changed_.notify_one();
  }
  /// Declares that no more results will come.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  /// Calls take(place, result) for each place in order, in this thread. Returns when all have been taken, or when the
  /// next one is missing after end().
  template <class Take>
  void deliver(Take&& take) {
    for (std::size_t place = 0; place < results_.size(); ++place) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || present_[place]; });
      if (!present_[place]) return;
      const Result result = std::move(results_[place]);
      lock.unlock();
      take(place, result);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Result> results_;
  std::vector<bool> present_;
  bool ended_ = false;
};

/// Calls work(i) for 0 <= i < count, each in its own thread (work(0) in this one), and waits for all. Returns what each
/// call threw, or null.
std::vector<std::exception_ptr> in_threads(std::size_t count, const std::function<void(std::size_t)>& work);

/// Reports the same stage of several threads as one: the first thread starts it, and the last one finishes it.
class SharedProgress : public Progress {
 public:
  SharedProgress(Progress& all, std::size_t threads) : all_(all), threads_(threads) {}
  void start(const std::string& stage, std::uint64_t total, const std::string& unit) override;
  void add(std::uint64_t units) override;
  void finish() override;
  void warn(const std::string& message) override;

 private:
  Progress& all_;
  const std::size_t threads_;
  std::mutex mutex_;
  std::size_t started_ = 0, finished_ = 0;
};

/// Makes the shares of several GPUs at the same time, which copies an index to each. Rethrows the first error.
template <class Share>
std::vector<std::unique_ptr<Share>> make_shares(
    std::span<const unsigned> gpus, Progress& progress,
    const std::function<std::unique_ptr<Share>(unsigned gpu, Progress& progress)>& make) {
  std::vector<std::unique_ptr<Share>> shares(gpus.size());
  SharedProgress all(progress, gpus.size());
  for (const std::exception_ptr& error :
       in_threads(gpus.size(), [&](std::size_t i) { shares[i] = make(gpus[i], all); }))
    if (error) std::rethrow_exception(error);
  return shares;
}

/// What users read of a GPU that failed while others go on.
inline std::string left_out(unsigned gpu, const CudaError& error) {
  return "GPU " + std::to_string(gpu) + " is left out: " + error.what();
}

/// Drops the share of a GPU that failed, in a separate thread: freeing its resources fails too, and CUDA would report
/// that to this thread's next call.
template <class Pointer>
void drop_failed(Pointer share) {
  std::thread([last = std::move(share)]() mutable { last.reset(); }).join();
}

/// The shares of several GPUs. A GPU that fails is not used again, and the others do its work.
template <class Share>
class GpuShares {
 public:
  explicit GpuShares(std::vector<std::unique_ptr<Share>> shares) : shares_(std::move(shares)) {}

  /// GPUs that have not failed.
  std::size_t size() const { return shares_.size(); }
  Share& front() const { return *shares_.front(); }
  void for_each(const std::function<void(Share&)>& visit) const {
    for (const std::unique_ptr<Share>& share : shares_) visit(*share);
  }

  /// Processes the queue with the first `max_shares` shares, each in its own thread (the first in this one). Then calls
  /// after(share) for each of them in this thread. Adds a sentence to `failed` for each GPU that failed; throws its
  /// CudaError if it was the last one.
  template <class Item, class After>
  void process(WorkQueue<Item>& queue, std::size_t max_shares, After&& after, std::vector<std::string>& failed) {
    // A GPU may fail when the others have already finished: they then process what it gives back.
    while (!queue.empty()) {
      if (shares_.empty()) throw CudaError("no GPU is left that has not failed; ask for --device cpu");
      const std::size_t busy = std::min(max_shares, shares_.size());
      const auto thrown = in_threads(busy, [&](std::size_t i) { shares_[i]->process(queue); });
      for (std::size_t i = 0; i < busy; ++i) after(*shares_[i]);
      for (std::size_t i = busy; i-- > 0;)
        if (thrown[i]) leave_out(i, thrown[i], failed);
    }
  }

 private:
  void leave_out(std::size_t i, const std::exception_ptr& thrown, std::vector<std::string>& failed) {
    try {
      std::rethrow_exception(thrown);
    } catch (const CudaError& error) {
      failed.push_back(left_out(shares_[i]->gpu(), error));
      drop_failed(std::move(shares_[i]));
      shares_.erase(shares_.begin() + static_cast<std::ptrdiff_t>(i));
      if (shares_.empty()) throw;
    }
  }

  std::vector<std::unique_ptr<Share>> shares_;
};

}  // namespace quern::gpu
