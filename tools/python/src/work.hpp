#pragma once
#include <nanobind/nanobind.h>
#include <quern/api/work.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

namespace quern::python {

/// A caller's threads, memory and callbacks.
struct WorkArguments {
  unsigned threads = 0;
  std::uint64_t memory = 0;
  nanobind::object progress;  ///< called with (stage, done, total, unit); None: no callback
  nanobind::object warn;      ///< called with a message; None: no callback
};

/// The exception that a caller's function raised while the library called it. The library passes only std::exception
/// on, so the Python exception waits here.
class CallerFailure {
 public:
  /// Calls call() with the GIL. If it raises, keeps the exception and throws std::runtime_error.
  template <class Call>
  void run(Call&& call) {
    const nanobind::gil_scoped_acquire with_gil;
    try {
      call();
    } catch (nanobind::python_error&) {
      keep(std::current_exception());
      throw std::runtime_error("a callback raised an exception");
    }
  }
  /// Throws the kept exception, if any. Call with the GIL.
  void rethrow();

 private:
  void keep(std::exception_ptr raised);

  std::mutex mutex_;
  std::exception_ptr raised_;
};

/// Long-running work that a signal stops: runs in a thread of its own, without the GIL, while the calling thread checks
/// for signals.
class InterruptibleWork {
 public:
  explicit InterruptibleWork(const WorkArguments& arguments);

  /// Throws the exception of the caller's functions, if any. Call with the GIL.
  void rethrow() { failure_->rethrow(); }
  /// Settings for the library, valid as long as this object.
  const api::Work& work() const { return work_; }

  /// The result of run(). Call with the GIL. Throws the exceptions of run() and of a signal's handler; run() has ended
  /// by then.
  template <class Run>
  auto finish(Run&& run) {
    std::future<decltype(run())> result;
    bool was_interrupted = false;
    {
      const nanobind::gil_scoped_release without_gil;
      result = std::async(std::launch::async, std::forward<Run>(run));
      while (result.wait_for(between_looks) != std::future_status::ready)
        if (!was_interrupted && has_signal()) {
          was_interrupted = true;
          stop_.request_stop();
        }
    }
    if (was_interrupted) throw nanobind::python_error();  // the signal handler's exception
    failure_->rethrow();
    return result.get();
  }

 private:
  static constexpr std::chrono::milliseconds between_looks{20};

  /// Checks with the GIL; true: a Python exception is set.
  static bool has_signal();

  std::stop_source stop_;
  std::shared_ptr<CallerFailure> failure_ = std::make_shared<CallerFailure>();
  api::Work work_;
};

/// Work that often reports progress in its calling thread. That thread does the work, without the GIL, and checks for
/// signals at each report, so thread-local data persists from one batch of queries to the next.
class DirectWork {
 public:
  explicit DirectWork(const WorkArguments& arguments);

  const api::Work& work() const { return work_; }

  /// See InterruptibleWork::finish().
  template <class Run>
  auto finish(Run&& run) {
    try {
      const nanobind::gil_scoped_release without_gil;
      return run();
    } catch (const std::exception&) {
      failure_->rethrow();
      throw;
    }
  }

 private:
  std::shared_ptr<CallerFailure> failure_ = std::make_shared<CallerFailure>();
  api::Work work_;
};

/// Sets a caller's functions, which the library calls from its threads. `failure` keeps their exceptions.
void set_callbacks(api::Work& work, const WorkArguments& arguments, const std::shared_ptr<CallerFailure>& failure);

}  // namespace quern::python
