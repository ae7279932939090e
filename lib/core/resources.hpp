#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

/// What the stages of long work get: threads, memory, a folder for temporary files, and an object that shows progress.
namespace quern {

/// Receives the progress of long work. The library never prints: a tool passes in an object that shows it.
/// add() may be called from any thread.
class Progress {
 public:
  virtual ~Progress() = default;
  /// A stage begins: `total` units of `unit` ("bytes", "postings", "documents"); 0 if it isn't known.
  virtual void start(const std::string& stage, std::uint64_t total, const std::string& unit) = 0;
  virtual void add(std::uint64_t units) = 0;
  virtual void finish() = 0;
  /// Reports something that the user should know although the work goes on.
  virtual void warn(const std::string& message) = 0;
};

/// Shows nothing.
class NoProgress : public Progress {
 public:
  void start(const std::string&, std::uint64_t, const std::string&) override {}
  void add(std::uint64_t) override {}
  void finish() override {}
  void warn(const std::string&) override {}
};

/// Where progress is shown: a pointer that is never null. Nothing is shown unless it is set.
class ProgressPointer {
 public:
  ProgressPointer() = default;
  /// Null stands for nothing that is shown.
  ProgressPointer(Progress* progress) : progress_(progress == nullptr ? &no_progress() : progress) {}
  Progress& operator*() const { return *progress_; }
  Progress* operator->() const { return progress_; }
  operator Progress*() const { return progress_; }

 private:
  static Progress& no_progress();

  Progress* progress_ = &no_progress();
};

/// Threads, memory and folder that a stage may use. The bytes that it writes do not depend on them.
struct Resources {
  unsigned threads = 1;
  /// Budget for buffers and tables; the process itself (code, stacks, libraries) may take 64 MB more.
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  /// Folder for work files.
  std::string tmp_folder = ".";
  ProgressPointer progress;
};

/// What answers that wait for their turn may take in memory, where nobody says otherwise.
inline constexpr std::uint64_t default_held_bytes = std::uint64_t{256} << 20;

/// All cores, 1 GiB (less on a smaller machine), no progress.
Resources default_resources();

/// Memory that several threads share: who wants some asks first, and does without where none is left. Nobody waits, so
/// nothing can lock up.
class MemoryBudget {
 public:
  /// Bytes that are taken; they go back when this ends. The budget must outlive it.
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

  /// Nothing if fewer bytes are left.
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

}  // namespace quern
