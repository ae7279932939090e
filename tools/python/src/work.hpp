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

/// What a caller passes on: threads, memory and functions that hear of progress.
struct WorkArguments {
  unsigned threads = 0;
  std::uint64_t memory = 0;
  nanobind::object progress;  ///< called with (stage, done, total, unit); None: nobody is
  nanobind::object warn;      ///< called with a text; None: nobody is
};

/// What a function of the caller raised while the library called it. The library passes on what it doesn't know only
/// in this form; the exception itself waits here.
class CallerFailure {
 public:
  /// call(), with the GIL. Throws std::runtime_error if it raises, and keeps what it raised.
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
  /// Throws what was kept, if anything was; to be called with the GIL.
  void rethrow();

 private:
  void keep(std::exception_ptr raised);

  std::mutex mutex_;
  std::exception_ptr raised_;
};

/// Long work that a signal stops: it runs in a thread of its own, without the GIL, while the calling one looks for
/// signals.
class InterruptibleWork {
 public:
  explicit InterruptibleWork(const WorkArguments& arguments);

  /// Throws what the caller's functions raised, if they did; with the GIL.
  void rethrow() { failure_->rethrow(); }
  /// For the library; valid as long as this object.
  const api::Work& work() const { return work_; }

  /// The result of run(), to be called with the GIL. Throws what it throws, and what a handler of a signal raises; then
  /// run() has ended, too.
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
    if (was_interrupted) throw nanobind::python_error();  // with what the signal's handler raised
    failure_->rethrow();
    return result.get();
  }

 private:
  static constexpr std::chrono::milliseconds between_looks{20};

  /// Takes the GIL to ask; true: an exception is set.
  static bool has_signal();

  std::stop_source stop_;
  std::shared_ptr<CallerFailure> failure_ = std::make_shared<CallerFailure>();
  api::Work work_;
};

/// Work that reports progress in the thread that calls it, often: that thread does it, without the GIL, and looks for
/// signals on the way. What a thread keeps from one batch of queries to the next stays with it.
class DirectWork {
 public:
  explicit DirectWork(const WorkArguments& arguments);

  const api::Work& work() const { return work_; }

  /// As InterruptibleWork::finish().
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

/// Functions of a caller that the library calls from its threads. What they raise is kept in `failure`.
void set_callbacks(api::Work& work, const WorkArguments& arguments, const std::shared_ptr<CallerFailure>& failure);

}  // namespace quern::python
