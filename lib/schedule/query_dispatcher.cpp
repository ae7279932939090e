#include "quern/schedule/query_dispatcher.hpp"

#include <chrono>
#include <limits>
#include <utility>

#include "quern/core/error.hpp"

namespace quern {
namespace {

/// The number of changes that a worker has seen before it has looked.
constexpr std::uint64_t changes_before_all = std::numeric_limits<std::uint64_t>::max();

}  // namespace

QueryDispatcher::QueryDispatcher(std::unique_ptr<ScheduleQueues> schedule, std::vector<DispatchWorker> workers,
                                 std::size_t max_waiting)
    : max_waiting_(max_waiting), schedule_(std::move(schedule)) {
  if (workers.empty() || max_waiting == 0)
    throw InvalidArgument("queries need a worker to answer them, and room to wait for it");
  for (const DispatchWorker& worker : workers) ++side(worker.processor).workers;
  for (DispatchWorker& worker : workers) threads_.emplace_back([this, worker = std::move(worker)] { work(worker); });
}

QueryDispatcher::~QueryDispatcher() {
  {
    const std::lock_guard lock(mutex_);
    dropping_ = true;
    wake_workers();
  }
  for (std::thread& thread : threads_) thread.join();
}

void QueryDispatcher::submit(WaitingQuery query) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return schedule_->size() < max_waiting_ || cpu_.workers + gpu_.workers == 0; });
  if (cpu_.workers + gpu_.workers == 0) std::rethrow_exception(failure_);
  query.arrival_us = now_us();
  schedule_->add(query);
  note_change();
}

DispatchFigures QueryDispatcher::finish() {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  note_change();
  ended_.wait(lock, [&] { return is_at_rest(); });
  if (schedule_->size() > 0) {
    if (cpu_.workers + gpu_.workers == 0) std::rethrow_exception(failure_);
    throw InvalidArgument("this schedule gives queries to a kind of processor that is not there");
  }
  return figures_;
}

bool QueryDispatcher::is_at_rest() const {
  return running_ == 0 && (schedule_->size() == 0 || idle_ == cpu_.workers + gpu_.workers);
}

void QueryDispatcher::note_change() {
  ++changes_;
  idle_ = 0;
  // To finish, all have to look again. Else one of each kind: only the schedule knows who is to take what.
  if (finishing_) return wake_workers();
  cpu_.changed.notify_one();
  gpu_.changed.notify_one();
}

void QueryDispatcher::wake_workers() {
  cpu_.changed.notify_all();
  gpu_.changed.notify_all();
}

std::vector<WaitingQuery> QueryDispatcher::take(const DispatchWorker& worker, Processor& meant_for) {
  meant_for = worker.processor;
  std::vector<WaitingQuery> taken = schedule_->take(meant_for, now_us(), worker.most);
  const Processor other = meant_for == Processor::cpu ? Processor::gpu : Processor::cpu;
  // Of a kind that has failed, what is meant for it goes to who is left.
  if (taken.empty() && side(other).workers == 0 && failure_ != nullptr) {
    meant_for = other;
    taken = schedule_->take(other, now_us(), worker.most);
  }
  return taken;
}

void QueryDispatcher::work(const DispatchWorker& worker) {
  std::uint64_t seen = changes_before_all;
  std::unique_lock lock(mutex_);
  while (!dropping_) {
    Processor meant_for{};
    const std::vector<WaitingQuery> queries = take(worker, meant_for);
    if (queries.empty()) {
      if (std::exchange(seen, changes_.load()) != changes_) ++idle_;
      if (is_at_rest()) ended_.notify_all();
      wait_for_change(worker, lock);
      continue;
    }
    ++running_;
    room_.notify_one();
    lock.unlock();
    std::exception_ptr thrown;
    try {
      worker.answer(queries);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    --running_;
    schedule_->ended(meant_for);
    if (thrown != nullptr) {
      failure_ = thrown;
      return leave_out(worker, queries);
    }
    count(worker, queries.size());
    // Other processors may have been waiting for this one to become idle.
    note_change();
  }
}

void QueryDispatcher::wait_for_change(const DispatchWorker& worker, std::unique_lock<std::mutex>& lock) {
  // Waking a thread takes about as long as a short query.
  constexpr auto patience = std::chrono::microseconds(50);
  const std::uint64_t seen = changes_;
  lock.unlock();
  const auto begun = WallClock::now();
  while (changes_.load(std::memory_order_relaxed) == seen && WallClock::now() - begun < patience)
    std::this_thread::yield();
  lock.lock();
  if (changes_ == seen && !dropping_) side(worker.processor).changed.wait(lock);
}

void QueryDispatcher::count(const DispatchWorker& worker, std::size_t queries) {
  if (worker.processor == Processor::cpu) {
    figures_.on_cpu += queries;
  } else {
    figures_.on_gpu += queries;
    ++figures_.batches;
  }
}

void QueryDispatcher::leave_out(const DispatchWorker& worker, const std::vector<WaitingQuery>& queries) {
  try {
    std::rethrow_exception(failure_);
  } catch (const std::exception& error) {
    figures_.failures.emplace_back(error.what());
  } catch (...) {
    figures_.failures.emplace_back("an unknown error");
  }
  --side(worker.processor).workers;
  for (const WaitingQuery& query : queries) schedule_->add(query);
  note_change();
  wake_workers();
  room_.notify_all();
  ended_.notify_all();
}

}  // namespace quern
