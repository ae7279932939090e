#pragma once
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "quern/core/resources.hpp"

namespace quern {

/// The maximum number of answers that wait for delivery.
inline constexpr std::size_t max_held_answers = 2048;

/// Memory of all answers that wait for delivery.
class HeldTotal {
 public:
  explicit HeldTotal(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}
  void add(std::uint64_t bytes) { bytes_ += bytes; }
  void remove(std::uint64_t bytes) { bytes_ -= bytes; }
  /// Whether to start no further answer. A first one may always start.
  bool is_full() const {
    const std::uint64_t bytes = bytes_;
    return bytes != 0 && bytes >= max_bytes_;
  }

 private:
  std::uint64_t max_bytes_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

/// One answer's contribution to a HeldTotal.
class HeldAnswer {
 public:
  explicit HeldAnswer(HeldTotal& total) : total_(&total) {}
  ~HeldAnswer() { release(); }
  HeldAnswer(const HeldAnswer&) = delete;
  HeldAnswer& operator=(const HeldAnswer&) = delete;
  void add(std::uint64_t bytes) {
    total_->add(bytes);
    bytes_ += bytes;
  }
  /// Whether the total is full.
  bool is_full() const { return total_->is_full(); }
  /// Call once the answer is delivered.
  void release() {
    total_->remove(bytes_);
    bytes_ = 0;
  }

 private:
  HeldTotal* total_;
  std::uint64_t bytes_ = 0;
};

/// Answers that several threads make; one thread delivers them in order while the others continue.
template <class Answer, class Make, class Take>
class ParallelAnswers {
 public:
  ParallelAnswers(std::size_t count, std::uint64_t held_bytes, Make& make, Take& take)
      : count_(count),
        make_(make),
        take_(take),
        max_held_(held_bytes),
        total_(held_bytes),
        room_(std::min(max_held_answers, count)),
        slots_(std::make_unique<std::optional<Slot>[]>(room_)) {
    for (std::size_t i = 0; i < room_; ++i) slots_[i].emplace(total_);
  }

  void run(unsigned threads) {
    while (handed_over_ < count_) {
      left_ = false;
      const auto useful = static_cast<unsigned>(std::min<std::size_t>(threads, count_ - handed_over_));
      shares_ = std::size_t{useful} * shares_per_thread;
      // Starting other threads takes longer than a short answer.
      if (useful == 1)
        work();
      else
        on_threads(useful, [&] {
          tbb::parallel_for(
              0u, useful, [&](unsigned) { work(); }, tbb::simple_partitioner());
        });
      // Every number that a thread took is answered or put off by now.
      hand_over(true);
    }
  }

 private:
  /// A thread takes several numbers at once while many are left, so that threads rarely contend: at most max_taken, and
  /// at most a share of the rest, so that all threads finish at about the same time.
  static constexpr std::size_t max_taken = 8, shares_per_thread = 16;
  enum class State : std::uint8_t { empty, made, put_off };
  struct Slot {
    explicit Slot(HeldTotal& total) : held(total) {}
    Answer answer{};
    HeldAnswer held;
    std::atomic<State> state = State::empty;
  };

  Slot& slot(std::size_t i) { return *slots_[i % room_]; }

  /// Makes answers until no number or no space for answers is left, or another thread found so.
  void work() {
    const bool hands_over = std::this_thread::get_id() == caller_;
    std::size_t first = 0;
    while (const std::size_t taken = take_numbers(first)) {
      for (std::size_t i = first; i < first + taken; ++i) {
        Slot& target = slot(i);
        // The first one had room when it was taken.
        const bool put_off = (i > first && total_.is_full()) || !make_(i, target.answer, target.held);
        target.state.store(put_off ? State::put_off : State::made, std::memory_order_release);
      }
      if (hands_over) hand_over(false);
    }
  }

  /// Takes one or several numbers, starting with `first`; returns their count.
  std::size_t take_numbers(std::size_t& first) {
    first = next_;
    std::size_t end = 0;
    do {
      if (first >= count_ || left_) return 0;
      const std::size_t room = handed_over_ + room_;
      if (first >= room || total_.is_full()) {
        left_ = true;
        return 0;
      }
      end = std::min(first + std::clamp<std::size_t>((count_ - first) / shares_, 1, max_taken), room);
    } while (!next_.compare_exchange_weak(first, end));
    return end - first;
  }

  /// Runs in the calling thread. An answer that was put off is made only if no other thread works (`alone`).
  void hand_over(bool alone) {
    if (handing_over_) return;  // take_() may wait in this thread and re-enter
    handing_over_ = true;
    for (std::size_t i = handed_over_; i < count_; ++i) {
      Slot& target = slot(i);
      const State state = target.state.load(std::memory_order_acquire);
      if (state == State::empty) break;
      if (state == State::put_off && !alone) {
        left_ = true;
        break;
      }
      if (state == State::put_off) {
        // A total of its own: waiting answers must not put it off again.
        HeldTotal none(max_held_);
        HeldAnswer held(none);
        make_(i, target.answer, held);
      }
      // Exchanged, because assigning an empty string would keep its memory.
      take_(i, std::exchange(target.answer, {}));
      target.held.release();
      target.state.store(State::empty, std::memory_order_relaxed);
      handed_over_.store(i + 1, std::memory_order_release);
    }
    handing_over_ = false;
  }

  std::size_t count_;
  Make& make_;
  Take& take_;
  std::uint64_t max_held_;
  HeldTotal total_;
  std::size_t room_;
  std::size_t shares_ = 1;  ///< a thread takes the remaining numbers divided by this
  std::unique_ptr<std::optional<Slot>[]> slots_;
  std::thread::id caller_ = std::this_thread::get_id();
  bool handing_over_ = false;
  std::atomic<bool> left_ = false;  ///< one thread stopped, so all must
  std::atomic<std::size_t> next_ = 0, handed_over_ = 0;
};

/// Calls answer(i, Answer&, HeldAnswer&) for 0 <= i < count in `threads` threads, which share only the next i, and
/// passes the answers to take(i, const Answer&) in order of i, in this thread, while the others continue. answer() adds
/// the answer's bytes to the HeldAnswer; no answer starts while the total is `held_bytes` or more. An answer that turns
/// out to be large while the total is full may put itself off by returning false: this thread makes it again, alone,
/// once all earlier answers are delivered.
template <class Answer, class Make, class Take>
void answer_or_put_off_in_batches(std::size_t count, unsigned threads, std::uint64_t held_bytes, Make&& answer,
                                  Take&& take) {
  ParallelAnswers<Answer, Make, Take>(count, held_bytes, answer, take).run(threads);
}

/// As above for answers that never put themselves off: answer(i, Answer&). bytes_of(const Answer&) returns an answer's
/// memory.
template <class Answer, class Make, class BytesOf, class Take>
void answer_in_batches(std::size_t count, unsigned threads, std::uint64_t held_bytes, Make&& answer, BytesOf&& bytes_of,
                       Take&& take) {
  const auto make = [&](std::size_t i, Answer& made, HeldAnswer& held) {
    answer(i, made);
    held.add(bytes_of(made));
    return true;
  };
  answer_or_put_off_in_batches<Answer>(count, threads, held_bytes, make, take);
}

/// Calls work() with the mutex held; work() may run parallel calls of oneTBB, as sorting in ExternalSort does. The
/// isolation keeps this thread, while it waits for them, from running another task that could want the mutex.
template <class Work>
void with_isolated_lock(std::mutex& mutex, Work&& work) {
  tbb::this_task_arena::isolate([&] {
    const std::lock_guard lock(mutex);
    work();
  });
}

}  // namespace quern
