#pragma once
#include <tbb/task_arena.h>

#include <mutex>

#include "quern/core/error.hpp"

/// Resources of a long-running stage: threads, memory, a folder for temporary files, and a progress display.
namespace quern {

/// Receives the progress of long work. The library never prints; a program passes an object that does. Any thread may
/// call add().
class Progress {
 public:
  virtual ~Progress() = default;
  /// A stage begins, with `total` units of `unit` ("bytes", "postings", "documents"); 0 if unknown.
  virtual void start(const std::string& stage, std::uint64_t total, const std::string& unit) = 0;
  virtual void add(std::uint64_t units) = 0;
  virtual void finish() = 0;
  /// Reports a problem that does not stop the work.
  virtual void warn(const std::string& message) = 0;
};

class NoProgress : public Progress {
 public:
  void start(const std::string&, std::uint64_t, const std::string&) override {}
  void add(std::uint64_t) override {}
  void finish() override {}
  void warn(const std::string&) override {}
};

/// A pointer to a Progress that is never null; NoProgress by default.
class ProgressPointer {
 public:
  ProgressPointer() = default;
  /// Null means no display.
  ProgressPointer(Progress* progress) : progress_(progress == nullptr ? &no_progress() : progress) {}
  Progress& operator*() const { return *progress_; }
  Progress* operator->() const { return progress_; }
  operator Progress*() const { return progress_; }

 private:
  static Progress& no_progress();

  Progress* progress_ = &no_progress();
};

/// Threads, memory and folder for a stage. Its output bytes do not depend on them.
struct Resources {
  unsigned threads = 1;
  /// Budget for buffers and tables; the process itself (code, stacks, libraries) may take another 64 MB.
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  /// Folder for work files.
  std::string tmp_folder = ".";
  ProgressPointer progress;
};

/// Default memory for answers that wait for delivery.
inline constexpr std::uint64_t default_held_bytes = std::uint64_t{256} << 20;

/// All cores, 1 GiB (less on a smaller machine), no progress.
Resources default_resources();

/// A memory budget that threads share. A thread reserves bytes first, or does without them if too few are left. No
/// thread waits, so deadlock is impossible.
class MemoryBudget {
 public:
  /// Reserved bytes, returned on destruction. The budget must outlive it.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Reservation() {
      if (budget_ != nullptr) budget_->give_back(bytes_);
    }
    std::uint64_t bytes() const { return bytes_; }

   private:
    friend class MemoryBudget;
    Reservation(MemoryBudget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  explicit MemoryBudget(std::uint64_t bytes) : left_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// Empty if fewer than `bytes` are left.
  std::optional<Reservation> reserve(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > left_) return std::nullopt;
    left_ -= bytes;
    return Reservation(*this, bytes);
  }
  std::uint64_t left() const {
    const std::lock_guard lock(mutex_);
    return left_;
  }

 private:
  void give_back(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    left_ += bytes;
  }

  mutable std::mutex mutex_;
  std::uint64_t left_;
};

// Runs the library's public functions on a limited number of threads and with the library's own exceptions.

/// More threads would only take memory.
inline constexpr unsigned max_threads = 1024;

/// Calls work() on at most `threads` threads, this one included; all parallel calls of oneTBB in it share them. The
/// library limits threads nowhere else. Throws InvalidArgument unless `threads` is 1 to max_threads.
template <class Work>
decltype(auto) on_threads(unsigned threads, Work&& work) {
  check_range("threads", threads, 1, max_threads);
  // Already within such a limit, or the machine's own limit.
  if (tbb::this_task_arena::max_concurrency() == static_cast<int>(threads)) return std::forward<Work>(work)();
  tbb::task_arena arena(static_cast<int>(threads));
  return arena.execute(std::forward<Work>(work));
}

/// Calls work() on the threads of `resources`, with errors translated by translate_errors().
template <class Work>
decltype(auto) run_stage(const Resources& resources, Work&& work) {
  return translate_errors([&]() -> decltype(auto) { return on_threads(resources.threads, std::forward<Work>(work)); });
}

}  // namespace quern
