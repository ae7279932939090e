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

/// Cuts items that arrive over time into batches, from one thread to another: a batch is due as soon as it is full, or
/// as soon as its first item has waited long enough. All items are kept, in their order.
template <class Item>
class BatchCollector {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// Batches have at most `max_items` items (at least 1) and wait no longer than `wait`. `now` is the clock.
  BatchCollector(std::size_t max_items, Clock::duration wait, Now now = Clock::now)
      : max_(max_items), wait_(wait), now_(std::move(now)) {}

  /// Adds an item; waits while two full batches have not been taken. Returns false, and drops the item, once close()
  /// was called.
  bool push(Item item) {
    std::unique_lock lock(mutex_);
    has_space_.wait(lock, [&] { return closed_ || waiting_.size() < 2 * max_; });
    if (closed_) return false;
    waiting_.emplace_back(std::move(item), now_());
    // take() computes its deadline when the first item arrives, and checks the number when a batch is full.
    if (waiting_.size() == 1 || waiting_.size() >= max_) has_items_.notify_one();
    return true;
  }
  /// Announces that no more items arrive: all that are here are due.
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    has_items_.notify_one();
  }
  /// Refuses all further items.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_space_.notify_all();
  }

  /// The next batch if one is due now, else an empty one.
  std::vector<Item> try_take() {
    const std::lock_guard lock(mutex_);
    return is_due() ? cut() : std::vector<Item>();
  }
  /// Waits for the next batch; empty once all items have been taken and no more arrive.
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
    has_space_.notify_one();
    return batch;
  }

  const std::size_t max_;
  const Clock::duration wait_;
  const Now now_;
  std::mutex mutex_;
  std::condition_variable has_items_, has_space_;
  std::deque<std::pair<Item, Clock::time_point>> waiting_;  ///< with their times of arrival
  bool finished_ = false, closed_ = false;
};

}  // namespace quern
