#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace quern {

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
