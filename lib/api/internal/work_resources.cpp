#include "quern/api/internal/work_resources.hpp"

#include <filesystem>

#include "quern/api/internal/boundary.hpp"

namespace quern::api {
namespace {

constexpr std::uint64_t least_memory = 32 << 20;

}  // namespace

void WorkProgress::check_stop() const {
  if (work_.stop.stop_requested()) throw Cancelled("stopped at the caller's request");
}

void WorkProgress::start(const std::string& stage, std::uint64_t total, const std::string& unit) {
  check_stop();
  const std::lock_guard lock(mutex_);
  step_ = {stage, 0, total, unit, false};
  done_ = 0;
  tell();
}

void WorkProgress::add(std::uint64_t units) {
  check_stop();
  done_ += units;
  if (!work_.progress) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && Clock::now() - last_call_ >= between_calls) tell();
}

void WorkProgress::finish() {
  const std::lock_guard lock(mutex_);
  step_.ended = true;
  if (!step_.stage.empty()) tell();
}

void WorkProgress::call(const std::function<void(const std::string&)>& function, const std::string& message) {
  check_stop();
  if (!function) return;
  const std::lock_guard lock(mutex_);
  function(spelled(message));
}

void WorkProgress::tell() {
  last_call_ = Clock::now();
  step_.done = done_;
  if (work_.progress) work_.progress(step_);
}

WorkResources::WorkResources(const Work& work, const std::string& folder)
    : progress_(work), resources_(default_resources()) {
  if (work.threads != 0) {
    check_range("threads", work.threads, 1, max_threads);
    resources_.threads = work.threads;
  }
  if (work.memory_bytes != 0) {
    if (work.memory_bytes < least_memory)
      throw InvalidArgument("{} must be at least 32M, not {}", option_name<"memory">, size_text(work.memory_bytes));
    resources_.memory_bytes = work.memory_bytes;
  }
  resources_.tmp_folder = !work.tmp_folder.empty() ? work.tmp_folder
                          : !folder.empty()        ? folder
                                                   : std::filesystem::temp_directory_path().string();
  resources_.progress = &progress_;
}

}  // namespace quern::api
