#include "quern/gpu/worker/helper_threads.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace quern::gpu {
namespace {

/// Threads that parallel calls have here.
std::size_t threads_here() { return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()); }

}  // namespace

HelperThreads::HelperThreads(std::size_t most, std::function<void()> work)
    : most_(std::min(most, std::max<std::size_t>(threads_here(), 2) - 1)),
      work_(std::move(work)),
      // Each has its place, so that none waits for another to leave.
      arena_(static_cast<int>(threads_here()), static_cast<unsigned>(std::max<std::size_t>(most_, 1))) {}

HelperThreads::~HelperThreads() = default;

void HelperThreads::start() {
  if (!threads_.empty()) return;
  try {
    for (std::size_t i = 0; i < most_; ++i) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    // Those that are there do all the work.
  }
}

void HelperThreads::run() {
  try {
    arena_.execute([this] { work_(); });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) error_ = std::current_exception();
  }
}

void HelperThreads::join() {
  threads_.clear();
  if (error_ != nullptr) std::rethrow_exception(error_);
}

}  // namespace quern::gpu
