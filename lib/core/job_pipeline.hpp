#pragma once
#include <tbb/parallel_pipeline.h>

#include <mutex>

#include "quern/core/types.hpp"

namespace quern {

/// Reusable jobs, created on demand.
template <class Job>
class JobPool {
 public:
  /// Returns a free job, or one that make() creates as a std::unique_ptr<Job>. The pool keeps ownership.
  template <class Make>
  Job* take(Make&& make) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      all_.reserve(all_.size() + 1);
      free_.reserve(all_.size() + 1);  // give_back() must not throw
      return all_.emplace_back(make()).get();
    }
    Job* const job = free_.back();
    free_.pop_back();
    return job;
  }
  void give_back(Job* job) {
    const std::lock_guard lock(mutex_);
    free_.push_back(job);
  }
  /// Calls visit(const Job&) for every job; none may be taken at the time.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& job : all_) visit(static_cast<const Job&>(*job));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Job>> all_;
  std::vector<Job*> free_;
};

/// Sends jobs through three steps, at most `in_flight` at a time: read(Job&) runs serially, prepares a job and returns
/// false at the end of the work; work(Job&) runs in parallel; put(Job&) runs serially, in the order of reading. make()
/// returns a std::unique_ptr<Job>. Jobs, not threads, own their buffers: there are at most `in_flight` jobs, however
/// many threads take turns. Rethrows what a step throws and frees all jobs; oneTBB would leak the job whose step throws
/// if it were a token.
template <class Make, class Read, class Work, class Put>
void run_jobs(std::size_t in_flight, Make&& make, Read&& read, Work&& work, Put&& put) {
  using Job = typename decltype(make())::element_type;
  JobPool<Job> pool;
  const auto first = [&](tbb::flow_control& control) -> Job* {
    Job* const job = pool.take(make);
    if (read(*job)) return job;
    control.stop();
    return nullptr;
  };
  const auto second = [&](Job* job) {
    work(*job);
    return job;
  };
  const auto third = [&](Job* job) {
    put(*job);
    pool.give_back(job);
  };
  tbb::parallel_pipeline(in_flight, tbb::make_filter<void, Job*>(tbb::filter_mode::serial_in_order, first) &
                                        tbb::make_filter<Job*, Job*>(tbb::filter_mode::parallel, second) &
                                        tbb::make_filter<Job*, void>(tbb::filter_mode::serial_in_order, third));
}

}  // namespace quern
