#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "quern/api/work.hpp"
#include "quern/core/resources.hpp"

namespace quern::api {

/// Progress of the library's stages for a caller's functions; asks the stop_token whenever a stage reports something.
class WorkProgress : public quern::Progress {
 public:
  explicit WorkProgress(const Work& work) : work_(work) {}

  /// All throw Cancelled once the caller has asked for it.
  void start(const std::string& stage, std::uint64_t total, const std::string& unit) override;
  void add(std::uint64_t units) override;
  void finish() override;
  void warn(const std::string& message) override;
  void check_stop() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds between_calls{100};

  void tell();

  const Work work_;
  std::mutex mutex_;  ///< of all below but done_
  ProgressStep step_;
  Clock::time_point told_;
  std::atomic<std::uint64_t> done_ = 0;
};

/// A caller's Work as stages take it. Must outlive them.
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
