#pragma once
#include <tbb/parallel_pipeline.h>

#include <memory>
#include <mutex>
#include <vector>

namespace quern {

/// Jobs that are made when one is needed, and used again.
template <class Job>
class JobPool {
 public:
  /// make() makes a std::unique_ptr<Job>. The job stays the pool's.
  template <class Make>
  Job* take(Make&& make) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      all_.reserve(all_.size() + 1);
      free_.reserve(all_.size() + 1);  // so that give_back() can't throw
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
  /// Calls visit(const Job&) for all jobs, while none is taken.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& job : all_) visit(static_cast<const Job&>(*job));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Job>> all_;
  std::vector<Job*> free_;
};

/// Sends jobs through three steps, at most `in_flight` of them at a time: read(Job&), one after another, prepares one
/// and returns false at the end of the work; work(Job&) runs in parallel; put(Job&) takes them in the order in which
/// they were read. make() makes a std::unique_ptr<Job>. There are as many jobs as are in flight, however many threads
/// take turns, so what a thread needs for its work belongs in the job. Throws what a step throws; the jobs are gone
/// then, which they would not be as tokens of oneTBB, that loses the one whose step throws.
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
