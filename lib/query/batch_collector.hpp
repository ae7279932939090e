#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace quern {

/// Makes batches of what comes over time, from one thread to another: a batch is due as soon as it is full, or as soon
/// as the first of it has waited long enough. Nothing is lost or changes places.
template <class Item>
class BatchCollector {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// Batches of `most` items at most (at least 1), that wait no longer than `wait`. `now` tells the time.
  BatchCollector(std::size_t most, Clock::duration wait, Now now = Clock::now)
      : max_(most), wait_(wait), now_(std::move(now)) {}

  /// Takes an item; waits while two full batches are there that nobody has taken. False once close() was called: the
  /// item is not wanted.
  bool push(Item item) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return closed_ || waiting_.size() < 2 * max_; });
    if (closed_) return false;
    waiting_.emplace_back(std::move(item), now_());
    // Whoever waits looks at the time when the first comes, and at the number when a batch is full.
    if (waiting_.size() == 1 || waiting_.size() >= max_) has_items_.notify_one();
    return true;
  }
  /// No more items come: what is there is due.
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    has_items_.notify_one();
  }
  /// No more items are taken.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_room_.notify_all();
  }

  /// The next batch if one is due now; else empty.
  std::vector<Item> try_take() {
    const std::lock_guard lock(mutex_);
    return is_due() ? cut() : std::vector<Item>();
  }
  /// Waits for the next batch; empty when all items were taken and no more come.
  std::vector<Item> take() {
    std::unique_lock lock(mutex_);
    while (!is_due() && !(finished_ && waiting_.empty())) {
      if (waiting_.empty())
        has_items_.wait(lock);
      else
        has_items_.wait_for(lock, waiting_.front().second + wait_ - now_());
    }
    return cut();
  }

 private:
  bool is_due() const {
    if (waiting_.empty()) return false;
    return finished_ || waiting_.size() >= max_ || now_() - waiting_.front().second >= wait_;
  }
  std::vector<Item> cut() {
    std::vector<Item> batch;
    for (; !waiting_.empty() && batch.size() < max_; waiting_.pop_front())
      batch.push_back(std::move(waiting_.front().first));
    has_room_.notify_one();
    return batch;
  }

  const std::size_t max_;
  const Clock::duration wait_;
  const Now now_;
  std::mutex mutex_;
  std::condition_variable has_items_, has_room_;
  std::deque<std::pair<Item, Clock::time_point>> waiting_;  ///< with the time at which each came
  bool finished_ = false, closed_ = false;
};

}  // namespace quern
