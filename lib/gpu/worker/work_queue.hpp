#pragma once
#include <deque>

#include "quern/gpu/worker/worker_pool.hpp"

/// Queues of work and results for several GPUs. Host code.
namespace quern::gpu {

/// The size of batches: a batch ends when it reaches either limit.
template <class Query>
struct BatchLimits {
  std::size_t queries = std::numeric_limits<std::size_t>::max();  ///< maximum queries
  std::uint64_t cost = std::numeric_limits<std::uint64_t>::max();
  std::function<std::uint64_t(const Query&)> cost_of = nullptr;  ///< null: queries cost nothing
};

/// Queries that wait for a GPU, in order. A query belongs to the GPU that took it until it is given back. Thread-safe.
template <class Query>
class WorkQueue {
 public:
  WorkQueue() = default;
  WorkQueue(std::vector<Query*> queries, BatchLimits<Query> limits) { start(std::move(queries), std::move(limits)); }

  /// Replaces all waiting queries. Call it before other threads use the queue.
  void start(std::vector<Query*> queries, BatchLimits<Query> limits) {
    limits_ = std::move(limits);
    waiting_.assign(queries.rbegin(), queries.rend());
  }
  /// Takes the next batch; empty if no query waits.
  std::vector<Query*> take() {
    const std::lock_guard lock(mutex_);
    std::vector<Query*> batch;
    for (std::uint64_t cost = 0; !waiting_.empty() && batch.size() < limits_.queries && cost < limits_.cost;) {
      batch.push_back(waiting_.back());
      waiting_.pop_back();
      if (limits_.cost_of) cost += limits_.cost_of(*batch.back());
    }
    return batch;
  }
  /// Puts queries that a GPU took but did not answer before all others, in the given order.
  void give_back(std::span<Query* const> queries) {
    const std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), queries.rbegin(), queries.rend());
  }
  /// Drops all waiting queries.
  void stop() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return waiting_.empty();
  }

 private:
  BatchLimits<Query> limits_;
  mutable std::mutex mutex_;
  std::vector<Query*> waiting_;  ///< the next one last
};

/// Answers the batches of a queue in order until it is empty, with one GPU's flights in turn. `launch(flight, queries)`
/// starts a batch of the first of these queries, at least one, and returns its size; `finish(flight, queries)` answers
/// them; `abandon(flight)` drops a launched or failed batch. If a call throws CudaError, gives the unfinished queries
/// back to the queue and rethrows; for other exceptions, stops the queue and rethrows. One thread at a time may use
/// `control`.
template <class Query, class Launch, class Finish, class Abandon>
void answer_in_turn(WorkQueue<Query>& queue, FlightControl& control, const Launch& launch, const Finish& finish,
                    const Abandon& abandon) {
  struct Batch {
    explicit Batch(FlightControl& flights) : flight(flights) {}
    FlightControl::Flight flight;
    std::vector<Query*> queries;
  };
  std::deque<Batch> batches;
  std::vector<Query*> taken;
  const auto finish_oldest = [&] {
    finish(batches.front().flight.number(), batches.front().queries);
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
        batch.queries.assign(taken.begin(), end);
        taken.erase(taken.begin(), end);
      }
    }
    while (!batches.empty()) finish_oldest();
  } catch (const CudaError&) {
    abandon_all();
    std::vector<Query*> unfinished;
    for (const Batch& batch : batches) unfinished.insert(unfinished.end(), batch.queries.begin(), batch.queries.end());
    unfinished.insert(unfinished.end(), taken.begin(), taken.end());
    queue.give_back(unfinished);
    throw;
  } catch (...) {
    queue.stop();
    abandon_all();
    throw;
  }
}

/// Takes results from several threads in any order, and delivers them in order to one thread.
template <class Result>
class ResultsInOrder {
 public:
  explicit ResultsInOrder(std::size_t count) : results_(count) {}

  /// Stores the result of a place. Called once per place, by any thread.
  void put(std::size_t place, Result result) {
    const std::lock_guard lock(mutex_);
    results_[place] = std::move(result);
    changed_.notify_one();
  }
  /// Declares that no more results follow.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  /// Calls take(place, result) for each place in order, until the last, or the first that is missing after end().
  template <class Take>
  void deliver(Take&& take) {
    for (std::size_t place = 0; place < results_.size(); ++place) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || results_[place]; });
      if (!results_[place]) return;
      const Result result = *std::exchange(results_[place], std::nullopt);
      lock.unlock();
      take(place, result);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Result>> results_;
  bool ended_ = false;
};

}  // namespace quern::gpu
