#include "work.hpp"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace quern::python {
namespace {

/// A Python object that threads without the GIL may hold and release.
std::shared_ptr<nb::object> shared(const nb::object& object) {
  return {new nb::object(object), [](nb::object* held) {
            const nb::gil_scoped_acquire with_gil;
            delete held;
          }};
}

}  // namespace

void set_callbacks(api::Work& work, const WorkArguments& arguments, const std::shared_ptr<CallerFailure>& failure) {
  if (arguments.progress.is_valid() && !arguments.progress.is_none())
    work.progress = [call = shared(arguments.progress), failure](const api::ProgressStep& step) {
      failure->run([&] { (*call)(step.stage, step.done, step.total, step.unit); });
    };
  if (arguments.warn.is_valid() && !arguments.warn.is_none())
    work.warn = [call = shared(arguments.warn), failure](const std::string& text) {
      failure->run([&] { (*call)(text); });
    };
}

void CallerFailure::keep(std::exception_ptr raised) {
  const std::lock_guard lock(mutex_);
  if (!raised_) raised_ = std::move(raised);
}

void CallerFailure::rethrow() {
  std::exception_ptr raised;
  {
    const std::lock_guard lock(mutex_);
    raised = std::exchange(raised_, nullptr);
  }
  if (raised) std::rethrow_exception(raised);
}

InterruptibleWork::InterruptibleWork(const WorkArguments& arguments) {
  work_.threads = arguments.threads;
  work_.memory_bytes = arguments.memory;
  work_.stop = stop_.get_token();
  set_callbacks(work_, arguments, failure_);
}

DirectWork::DirectWork(const WorkArguments& arguments) {
  work_.threads = arguments.threads;
  work_.memory_bytes = arguments.memory;
  set_callbacks(work_, arguments, failure_);
  work_.progress = [tell = std::move(work_.progress), failure = failure_](const api::ProgressStep& step) {
    failure->run([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
    if (tell) tell(step);
  };
}

bool InterruptibleWork::has_signal() {
  const nb::gil_scoped_acquire with_gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace quern::python
