#pragma once
#include <tbb/task_arena.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "quern/core/resources.hpp"

namespace quern::gpu {

/// Threads that share the work of the thread that starts them. Their parallel calls together use as many threads as the
/// creator's parallel calls. The destructor waits for all, and drops their errors unless join() was called.
class HelperThreads {
 public:
  /// At most `max_helpers` helpers, at least one, and with the creating thread no more than the threads of parallel
  /// calls. Each calls `work` once. If it throws, it must make the others end.
  HelperThreads(std::size_t max_helpers, std::function<void()> work);

  /// Starts the helpers on the first call; fewer if the system has no threads left. For one thread.
  void start();
  /// Waits for all, and rethrows the first error.
  void join() {
    threads_.clear();
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void run();

  const std::size_t max_threads_;
  const std::function<void()> work_;
  tbb::task_arena arena_;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;
};

/// The numbers of `count` GPUs from `first` on, or of all from `first` on if `count` is 0. Throws CudaError if the
/// machine has no GPU or the build has no CUDA; InvalidArgument, with the number of GPUs, if there are fewer.
std::vector<unsigned> gpu_numbers(unsigned first, unsigned count);

/// Calls work(i) for 0 <= i < count, each in a thread, and waits for all. Returns each call's exception, or null.
std::vector<std::exception_ptr> in_threads(std::size_t count, const std::function<void(std::size_t)>& work);

/// Reports a stage that several threads run as one: the first thread starts it, the last one finishes it.
class SharedProgress : public Progress {
 public:
  SharedProgress(Progress& all, std::size_t threads) : all_(all), threads_(threads) {}
  void start(const std::string& stage, std::uint64_t total, const std::string& unit) override {
    const std::lock_guard lock(mutex_);
    if (started_++ == 0) all_.start(stage, total * threads_, unit);
  }
  void add(std::uint64_t units) override {
    const std::lock_guard lock(mutex_);
    all_.add(units);
  }
  void finish() override {
    const std::lock_guard lock(mutex_);
    if (++finished_ == threads_) all_.finish();
  }
  void warn(const std::string& message) override {
    const std::lock_guard lock(mutex_);
    all_.warn(message);
  }

 private:
  Progress& all_;
  const std::size_t threads_;
  std::mutex mutex_;
  std::size_t started_ = 0, finished_ = 0;
};

/// Makes the workers of several GPUs concurrently, which copies an index to each. Rethrows the first error.
template <class Worker>
std::vector<std::unique_ptr<Worker>> make_workers(
    std::span<const unsigned> gpus, Progress& progress,
    const std::function<std::unique_ptr<Worker>(unsigned gpu, Progress& progress)>& make) {
  std::vector<std::unique_ptr<Worker>> workers(gpus.size());
  SharedProgress all(progress, gpus.size());
  for (const std::exception_ptr& error :
       in_threads(gpus.size(), [&](std::size_t i) { workers[i] = make(gpus[i], all); }))
    if (error) std::rethrow_exception(error);
  return workers;
}

/// The workers of several GPUs, for any number of threads: each uses the worker with the fewest users. A GPU that fails
/// is not used again. Thread-safe, except for for_each() and front(), which require that no worker is in use.
template <class Worker>
class WorkerPool {
 public:
  explicit WorkerPool(std::vector<std::unique_ptr<Worker>> workers) {
    for (std::unique_ptr<Worker>& worker : workers) members_.push_back({std::move(worker), 0});
  }

  /// GPUs that have not failed.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return members_.size();
  }
  Worker& front() const { return *members_.front().worker; }
  void for_each(const std::function<void(Worker&)>& visit) const {
    for (const Member& member : members_) visit(*member.worker);
  }

  /// Calls use(worker) with one of the first `max_workers` workers. If that throws CudaError, drops the worker, adds a
  /// sentence to `failed`, and uses another one; throws CudaError if none is left. Rethrows other exceptions of `use`.
  template <class Use>
  void use(std::size_t max_workers, const Use& use, std::vector<std::string>& failed) {
    for (;;) {
      std::shared_ptr<Worker> worker = take(max_workers);
      try {
        use(*worker);
        return give_back(std::move(worker));
      } catch (const CudaError& error) {
        const std::string text = "GPU " + std::to_string(worker->gpu()) + " is no longer used: " + error.what();
        const bool is_first = leave_out(*worker, text);
        give_back(std::move(worker));
        if (size() == 0) throw;
        if (is_first) failed.push_back(text);
      } catch (...) {
        give_back(std::move(worker));
        throw;
      }
    }
  }

 private:
  struct Member {
    std::shared_ptr<Worker> worker;
    std::size_t users = 0;
  };

  std::shared_ptr<Worker> take(std::size_t max_workers) {
    const std::lock_guard lock(mutex_);
    if (members_.empty())
      throw CudaError("all GPUs have failed; use {} cpu (last error: {})", option_name<"device">, last_failure_);
    const auto end =
        members_.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(max_workers, 1, members_.size()));
    const auto least =
        std::min_element(members_.begin(), end, [](const Member& a, const Member& b) { return a.users < b.users; });
    ++least->users;
    return least->worker;
  }
  void give_back(std::shared_ptr<Worker> worker) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto member = member_of(*worker); member != members_.end()) {
        --member->users;
        return;
      }
    }
    // In a separate thread: freeing the resources fails too, and CUDA would report that to this thread's next call.
    std::thread([last = std::move(worker)]() mutable { last.reset(); }).join();
  }
  /// False if another thread did so before.
  bool leave_out(const Worker& worker, const std::string& failure) {
    const std::lock_guard lock(mutex_);
    const auto member = member_of(worker);
    if (member == members_.end()) return false;
    members_.erase(member);
    last_failure_ = failure;
    return true;
  }
  typename std::vector<Member>::iterator member_of(const Worker& worker) {
    return std::find_if(members_.begin(), members_.end(),
                        [&](const Member& member) { return member.worker.get() == &worker; });
  }

  mutable std::mutex mutex_;
  std::vector<Member> members_;
  std::string last_failure_;  ///< reported by threads that find no worker
};

/// Lets several threads use one GPU's flights: each has one from making a batch to taking its results. Batches are
/// launched one at a time, and checked in the order of launching, since each may use lists that earlier ones have
/// decoded. Thread-safe. Host code without GPU calls.
class FlightControl {
 public:
  explicit FlightControl(unsigned flights) : flights_(flights) {}

  std::size_t flights() const { return flights_.size(); }

  /// Holds a flight as long as it lives. Waits for a free one: first come, first served.
  class Flight {
   public:
    explicit Flight(FlightControl& control) : control_(control), number_(control.take()) {}
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;
    ~Flight() { control_.give_back(number_); }
    unsigned number() const { return number_; }

   private:
    FlightControl& control_;
    const unsigned number_;
  };

  /// Keeps other threads from launching and from all other functions.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  /// Notes, with the lock, that the flight's batch was launched. It must be checked.
  void launched(unsigned flight) {
    flights_[flight].launch = ++launches_;
    flights_[flight].spoiled = false;
  }
  /// Waits until all batches launched before this flight's are checked, except for those of the same thread's flights.
  void wait_for_earlier(unsigned flight);
  /// Notes, with the lock, that the flight's batch has ended. If it is not sound, it spoils all later batches.
  void checked(unsigned flight, bool sound);
  /// Whether the flight's batch must be relaunched. With the lock.
  bool is_spoiled(unsigned flight) const { return flights_[flight].spoiled; }

 private:
  struct State {
    bool taken = false, spoiled = false;
    std::thread::id thread;    ///< the owner
    std::uint64_t launch = 0;  ///< number of its launch, from 1; 0: none, or checked
  };

  unsigned take();
  void give_back(unsigned flight);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<State> flights_;
  std::uint64_t launches_ = 0;
  std::uint64_t next_ticket_ = 0, served_ = 0;  ///< of waiting threads
};

}  // namespace quern::gpu
