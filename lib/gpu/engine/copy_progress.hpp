#pragma once
#include <mutex>

#include "quern/core/progress.hpp"

namespace quern {

/// Makes one stage of the same stage in several threads at a time: the first to begin begins it for all, the last to
/// finish ends it.
class CopyProgress : public Progress {
 public:
  CopyProgress(Progress& all, std::size_t threads) : all_(all), threads_(threads) {}

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

}  // namespace quern
