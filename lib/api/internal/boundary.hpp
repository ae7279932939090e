#pragma once
#include <atomic>
#include <chrono>
#include <mutex>

#include "quern/api/work.hpp"
#include "quern/core/resources.hpp"

namespace quern::api {

/// In a handler: rethrows the current exception as Error. Exceptions of a caller's functions pass unchanged.
[[noreturn]] void throw_api_error();

/// Calls work() and throws its exceptions as Error. The body of every public function is in it.
template <class Work>
decltype(auto) with_api_errors(Work&& work) {
  try {
    return translate_errors(std::forward<Work>(work));
  } catch (...) {
    throw_api_error();
  }
}

/// Sets how messages spell options. The default is that of programs: gpu_memory, "index with forward". The command line
/// sets its own.
void set_option_spelling(OptionSpelling* spelling);

/// A message of the library, with options instead of placeholders.
std::string spelled(std::string_view message);
std::vector<std::string> spelled(std::vector<std::string> messages);

/// A function that passes spelled messages on to `take`, if that is set.
std::function<void(const std::string&)> spelled(std::function<void(const std::string&)> take);

/// ErrorCode::wrong_usage: contradictory options, or an output that is also an input.
class WrongUsage : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Passes progress to a caller's functions; checks the stop_token at each report.
class WorkProgress : public quern::Progress {
 public:
  explicit WorkProgress(const Work& work) : work_(work) {}

  /// All throw Cancelled once the caller requests it.
  void start(const std::string& stage, std::uint64_t total, const std::string& unit) override;
  void add(std::uint64_t units) override;
  void finish() override;
  void warn(const std::string& message) override { call(work_.warn, message); }
  void remark(const std::string& text) { call(work_.remark, text); }
  void check_stop() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds between_calls{100};

  void tell();
  void call(const std::function<void(const std::string&)>& function, const std::string& message);

  const Work work_;
  std::mutex mutex_;  ///< of all below but done_
  ProgressStep step_;
  Clock::time_point last_call_;
  std::atomic<std::uint64_t> done_ = 0;
};

/// A caller's Work as stages take it. Must outlive the stages.
class WorkResources {
 public:
  /// `folder`: for work files where `work` names none; empty: the system's. Throws InvalidArgument if threads or memory
  /// are out of range.
  WorkResources(const Work& work, const std::string& folder);
  WorkResources(const WorkResources&) = delete;
  WorkResources& operator=(const WorkResources&) = delete;

  operator const Resources&() const { return resources_; }
  const Resources& operator*() const { return resources_; }
  const Resources* operator->() const { return &resources_; }
  WorkProgress& progress() { return progress_; }

 private:
  WorkProgress progress_;
  Resources resources_;
};

}  // namespace quern::api
