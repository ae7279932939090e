#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/gpu/worker/worker_pool.hpp"

/// What several GPUs take their work from, and what they give results to. Host code.
namespace quern::gpu {

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

/// Answers the batches of a queue until it is empty, in its order, with flights of one GPU that this thread uses in
/// turn. `launch(flight, items)` starts a batch of the first of these items, at least one, and returns how many;
/// `finish(flight, items)` answers them; `abandon(flight)` drops a batch that was launched or is being launched. If a
/// call throws CudaError, gives the unfinished items back to the queue and rethrows that error; if one throws anything
/// else, stops the queue and rethrows that error. Only one thread at a time may do this with `control`.
template <class Item, class Launch, class Finish, class Abandon>
void answer_in_turn(WorkQueue<Item>& queue, FlightControl& control, const Launch& launch, const Finish& finish,
                    const Abandon& abandon) {
  struct Batch {
    explicit Batch(FlightControl& flights) : flight(flights) {}
    FlightControl::Flight flight;
    std::vector<Item*> items;
  };
  std::deque<Batch> batches;
  std::vector<Item*> taken;
  const auto finish_oldest = [&] {
    finish(batches.front().flight.number(), batches.front().items);
    batches.pop_front();
  };
  const auto abandon_all = [&] {
    for (const Batch& batch : batches) abandon(batch.flight.number());
  };
  try {
    for (taken = queue.take(); !taken.empty(); taken = queue.take()) {
      while (!taken.empty()) {
        if (batches.size() == control.flights()) finish_oldest();
        Batch& batch = batches.emplace_back(control);
        const auto end = taken.begin() + static_cast<std::ptrdiff_t>(launch(batch.flight.number(), taken));
        batch.items.assign(taken.begin(), end);
        taken.erase(taken.begin(), end);
      }
    }
    while (!batches.empty()) finish_oldest();
  } catch (const CudaError&) {
    abandon_all();
    std::vector<Item*> unfinished;
    for (const Batch& batch : batches) unfinished.insert(unfinished.end(), batch.items.begin(), batch.items.end());
    unfinished.insert(unfinished.end(), taken.begin(), taken.end());
    queue.give_back(unfinished);
    throw;
  } catch (...) {
    queue.stop();
    abandon_all();
    throw;
  }
}

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

}  // namespace quern::gpu
