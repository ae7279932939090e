#include "quern/plan/query_dispatcher.hpp"

#include <immintrin.h>

#include <chrono>

namespace quern {
QueryDispatcher::Calls::~Calls() {
  for (Place* place : places_) place->state.notify_one();
}

QueryDispatcher::QueryDispatcher(std::unique_ptr<ScheduleQueues> schedule, std::vector<DispatchWorker> workers,
                                 std::size_t max_waiting)
    : max_waiting_(max_waiting), schedule_(std::move(schedule)), places_(workers.size()) {
  if (workers.empty() || max_waiting == 0)
    throw InvalidArgument("a dispatcher needs at least one worker and space for one waiting query");
  for (const DispatchWorker& worker : workers) ++side(worker.processor).workers;
  for (std::size_t i = 0; i < workers.size(); ++i)
    threads_.emplace_back([this, worker = std::move(workers[i]), i] { work(worker, places_[i]); });
}

QueryDispatcher::~QueryDispatcher() {
  {
    Calls calls;
    const auto locked = lock();
    dropping_ = true;
    call_all(calls);
  }
  for (std::thread& thread : threads_) thread.join();
}

std::unique_lock<std::mutex> QueryDispatcher::lock() {
  // Spins first: the lock is held for less than a microsecond, and waking a thread takes longer.
  constexpr int tries = 200;
  for (int i = 0; i < tries; ++i) {
    if (mutex_.try_lock()) return {mutex_, std::adopt_lock};
    _mm_pause();
  }
  return std::unique_lock(mutex_);
}

void QueryDispatcher::submit(std::span<const WaitingQuery> queries) {
  // In batches, since workers wait for the lock meanwhile.
  constexpr std::size_t at_once = 32;
  while (!queries.empty()) {
    const std::size_t batch = std::min(at_once, queries.size());
    enter(queries.first(batch));
    queries = queries.subspan(batch);
  }
}

void QueryDispatcher::enter(std::span<const WaitingQuery> queries) {
  auto calls = std::make_optional<Calls>();
  auto locked = lock();
  const auto has_room = [&] { return schedule_->size() < max_waiting_ || cpu_.workers + gpu_.workers == 0; };
  for (WaitingQuery query : queries) {
    if (!has_room()) {
      calls.emplace();  // wakes the workers that will make room
      submitter_waits_ = true;
      room_.wait(locked, has_room);
      submitter_waits_ = false;
    }
    if (cpu_.workers + gpu_.workers == 0) std::rethrow_exception(failure_);
    query.arrival_us = now_us();
    schedule_->add(query);
    call_for_work(Processor::cpu, *calls);
    call_for_work(Processor::gpu, *calls);
  }
}

DispatchFigures QueryDispatcher::finish() {
  auto locked = lock();
  finishing_ = true;
  ended_.wait(locked, [&] { return is_at_rest(); });
  if (schedule_->size() > 0) {
    if (cpu_.workers + gpu_.workers == 0) std::rethrow_exception(failure_);
    throw InvalidArgument("this schedule assigns queries to a kind of processor without workers");
  }
  return figures_;
}

bool QueryDispatcher::is_at_rest() const {
  // A woken worker has not checked the queue yet.
  return running_ == 0 &&
         (schedule_->size() == 0 || cpu_.idle.size() + gpu_.idle.size() == cpu_.workers + gpu_.workers);
}

void QueryDispatcher::call_one(Side& side, Calls& calls) {
  if (side.idle.empty()) return;
  // The worker that became idle last may not be asleep yet.
  Place& place = *side.idle.back();
  side.idle.pop_back();
  // Waking a thread takes microseconds, so only sleepers are notified.
  if (place.state.exchange(PlaceState::called) == PlaceState::sleeps) calls.add(place);
}

void QueryDispatcher::call_all(Calls& calls) {
  for (Side* side : {&cpu_, &gpu_})
    while (!side->idle.empty()) call_one(*side, calls);
}

void QueryDispatcher::call_for_work(Processor processor, Calls& calls) {
  // Workers of a kind are interchangeable, so one is enough. It also takes queries meant for a kind that has failed.
  const bool others_failed = failure_ != nullptr && side(other_than(processor)).workers == 0;
  if (schedule_->offers(processor, now_us()) || (others_failed && schedule_->size() > 0))
    call_one(side(processor), calls);
}

std::vector<WaitingQuery> QueryDispatcher::take(const DispatchWorker& worker, Processor& meant_for) {
  meant_for = worker.processor;
  if (schedule_->size() == 0) return {};
  std::vector<WaitingQuery> taken = schedule_->take(meant_for, now_us(), worker.max_queries);
  const Processor other = other_than(meant_for);
  // Queries meant for a kind that has failed go to the other kind.
  if (taken.empty() && side(other).workers == 0 && failure_ != nullptr) {
    meant_for = other;
    taken = schedule_->take(other, now_us(), worker.max_queries);
  }
  return taken;
}

void QueryDispatcher::work(const DispatchWorker& worker, Place& place) {
  auto calls = std::make_optional<Calls>();
  auto locked = lock();
  const auto unlock = [&] {
    locked.unlock();
    calls.emplace();  // wakes the workers called so far
  };
  while (!dropping_) {
    Processor meant_for{};
    const std::vector<WaitingQuery> queries = take(worker, meant_for);
    if (queries.empty()) {
      place.state = PlaceState::waits;
      side(worker.processor).idle.push_back(&place);
      if (finishing_ && is_at_rest()) ended_.notify_all();
      unlock();
      wait_for_call(place);
      locked = lock();
      continue;
    }
    ++running_;
    if (submitter_waits_) room_.notify_one();
    // Remaining queries may be for its peers, which nothing else would call.
    call_for_work(worker.processor, *calls);
    unlock();
    std::exception_ptr thrown;
    std::size_t answered = 0;
    const std::size_t together = worker.processor == Processor::gpu ? queries.size() : 1;
    try {
      for (; answered < queries.size(); answered += together)
        worker.answer(std::span(queries).subspan(answered, together));
    } catch (...) {
      thrown = std::current_exception();
    }
    locked = lock();
    --running_;
    schedule_->ended(meant_for, now_us());
    if (answered > 0) count(worker, answered);
    if (thrown != nullptr) {
      failure_ = thrown;
      return leave_out(worker, std::span(queries).subspan(answered), *calls);
    }
    // The other kind may have been waiting for this worker to become idle.
    call_for_work(other_than(worker.processor), *calls);
  }
}

void QueryDispatcher::wait_for_call(Place& place) {
  // Spins first: waking a thread takes about as long as a short query.
  constexpr auto patience = std::chrono::microseconds(50);
  const auto end = WallClock::now() + patience;
  while (place.state == PlaceState::waits && WallClock::now() < end) {
    // Yields the core between spins.
    for (int i = 0; i < 20 && place.state == PlaceState::waits; ++i) _mm_pause();
    std::this_thread::yield();
  }
  PlaceState expected = PlaceState::waits;
  if (place.state.compare_exchange_strong(expected, PlaceState::sleeps)) place.state.wait(PlaceState::sleeps);
}

void QueryDispatcher::count(const DispatchWorker& worker, std::size_t queries) {
  if (worker.processor == Processor::cpu) {
    figures_.on_cpu += queries;
  } else {
    figures_.on_gpu += queries;
    ++figures_.batches;
  }
}

void QueryDispatcher::leave_out(const DispatchWorker& worker, std::span<const WaitingQuery> queries, Calls& calls) {
  try {
    std::rethrow_exception(failure_);
  } catch (const std::exception& error) {
    figures_.failures.emplace_back(error.what());
  } catch (...) {
    figures_.failures.emplace_back("unknown error");
  }
  --side(worker.processor).workers;
  for (const WaitingQuery& query : queries) schedule_->add(query);
  call_all(calls);
  room_.notify_all();
  ended_.notify_all();
}

}  // namespace quern
