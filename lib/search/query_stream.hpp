#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "quern/formats/queries/query_file.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// A queue between two threads that groups items into batches. A batch is due when it is full, by number of items or by
/// their size, or when its first item has waited long enough. Items keep their order.
template <class Item>
class BatchCollector {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// A batch has at most `max_items` items (at least 1) of at most `max_bytes` in total, or a single larger item, and
  /// waits at most `wait`. `now` is the clock.
  BatchCollector(std::size_t max_items, Clock::duration wait, Now now = Clock::now,
                 std::size_t max_bytes = std::numeric_limits<std::size_t>::max())
      : max_items_(max_items), max_bytes_(max_bytes), wait_(wait), now_(std::move(now)) {}

  /// Adds an item of `bytes`; blocks while two batches of items, or one batch's bytes, are waiting. Returns false, and
  /// drops the item, after close().
  bool push(Item item, std::size_t bytes = 0) {
    std::unique_lock lock(mutex_);
    has_space_.wait(lock, [&] { return closed_ || (waiting_.size() < 2 * max_items_ && bytes_ < max_bytes_); });
    if (closed_) return false;
    waiting_.push_back({std::move(item), bytes, now_()});
    bytes_ += bytes;
    // take() computes its deadline when the first item arrives, and checks whether a batch is full when one is.
    if (waiting_.size() == 1 || is_full()) has_items_.notify_one();
    return true;
  }
  /// Ends the input: all waiting items are due.
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    has_items_.notify_one();
  }
  /// Rejects further items.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_space_.notify_all();
  }

  /// The next batch if one is due, otherwise an empty one.
  std::vector<Item> try_take() {
    const std::lock_guard lock(mutex_);
    return is_due() ? cut() : std::vector<Item>();
  }
  /// Waits for the next batch; empty at the end of the input.
  std::vector<Item> take() {
    std::unique_lock lock(mutex_);
    while (!is_due() && !(finished_ && waiting_.empty()))
      if (waiting_.empty())
        has_items_.wait(lock);
      else
        has_items_.wait_for(lock, waiting_.front().arrival + wait_ - now_());
    return cut();
  }

 private:
  bool is_due() const {
    if (waiting_.empty()) return false;
    return finished_ || is_full() || now_() - waiting_.front().arrival >= wait_;
  }
  bool is_full() const { return waiting_.size() >= max_items_ || bytes_ >= max_bytes_; }
  std::vector<Item> cut() {
    std::vector<Item> batch;
    std::size_t batch_bytes = 0;
    for (; !waiting_.empty() && batch.size() < max_items_; waiting_.pop_front()) {
      Waiting& first = waiting_.front();
      if (!batch.empty() && first.bytes > max_bytes_ - std::min(max_bytes_, batch_bytes)) break;
      batch_bytes += first.bytes;
      batch.push_back(std::move(first.item));
    }
    bytes_ -= batch_bytes;
    has_space_.notify_one();
    return batch;
  }

  struct Waiting {
    Item item;
    std::size_t bytes;
    Clock::time_point arrival;
  };

  const std::size_t max_items_, max_bytes_;
  const Clock::duration wait_;
  const Now now_;
  std::mutex mutex_;
  std::condition_variable has_items_, has_space_;
  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;  ///< of all waiting items
  bool finished_ = false, closed_ = false;
};

/// Queries that arrive over time, one per line and uncompressed, from a file or a pipe that may stay open. A thread
/// reads them as they arrive and a BatchCollector cuts them into batches.
class QueryStream {
 public:
  /// Reads the file `path`, or standard input if it is "-"; messages call it `name`. The format must have one query
  /// per line. A batch has at most `max_queries` queries and waits at most `wait`; all queries in memory take at most
  /// `memory_bytes`, plus the longest line as written. Throws like QueryLineParser for other formats, and IoError if
  /// the file can't be opened.
  QueryStream(const std::string& path, const std::string& name, QueryLayout layout, std::size_t max_queries,
              std::chrono::milliseconds wait, std::uint64_t memory_bytes);
  /// Stops reading, even while waiting for input.
  ~QueryStream();
  QueryStream(const QueryStream&) = delete;
  QueryStream& operator=(const QueryStream&) = delete;

  /// Waits for the next batch; empty at the end of input. An error in the input is thrown after all queries before it
  /// have been returned.
  std::vector<Query> next();
  /// Ends the input; any thread may call it.
  void stop() noexcept;

 private:
  using Collector = BatchCollector<Query>;

  void read_all();
  void refuse_compressed(std::string_view head) const;
  void take_line(std::string_view line);
  /// Waits for input and returns the number of bytes read; 0 at the end of input and once the object is destroyed.
  std::size_t read_some(std::span<char> to) const;

  std::optional<File> file_;  ///< empty: standard input
  std::string name_;
  QueryLineParser parser_;
  Collector collector_;
  ReadInterrupt interrupt_;
  std::exception_ptr thrown_;  ///< set by the reading thread before it finishes the collector
  std::thread thread_;
};

/// Finds repeated query ids in bounded memory: compares the 64-bit hash of each id with that of the previous one and of
/// the first max_ids distinct ones.
class RepeatedIds {
 public:
  static constexpr std::size_t max_ids = std::size_t{1} << 17;

  /// Records an id; returns whether it is a repetition.
  bool is_repeated(std::string_view id);

 private:
  std::vector<std::uint64_t> slots_;  ///< a hash table, at most half full; 0 is an empty slot
  std::size_t num_ids_ = 0;
  std::uint64_t last_ = 0;  ///< hash of the previous id
};

}  // namespace quern
