#pragma once
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quern/core/run_stage.hpp"

namespace quern {

/// Answers that are held at once before they are handed over.
inline constexpr std::size_t max_held_answers = 2048;

/// What answers that wait to be handed over take in memory. Threads may share one.
class HeldAnswers {
 public:
  explicit HeldAnswers(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}
  void add(std::uint64_t bytes) { bytes_ += bytes; }
  /// Whether no other answer should be begun. A first one always may.
  bool is_full() const { return bytes_ != 0 && bytes_ >= max_bytes_; }

 private:
  std::uint64_t max_bytes_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

/// Calls answer(i, Answer&, HeldAnswers&) for 0 <= i < count in `threads` threads, which share nothing but the next i,
/// and hands the answers to take(i, const Answer&) in the order of i, in this thread. What is called adds the answer's
/// bytes to those that are held; no answer is begun while they are `held_bytes` or more. An answer that turns out to be
/// large may find them full by then, and put itself off by returning false: it is made in this thread when those before
/// it have been handed over.
template <class Answer, class Make, class Take>
void answer_or_put_off_in_batches(std::size_t count, unsigned threads, std::uint64_t held_bytes, Make&& answer,
                                  Take&& take) {
  std::vector<Answer> answers;
  std::vector<std::uint8_t> put_off;
  for (std::size_t from = 0, done = 0; from < count; from += done) {
    const std::size_t some = std::min(max_held_answers, count - from);
    answers.clear();
    answers.resize(some);
    put_off.assign(some, false);
    std::atomic<std::size_t> next = 0;
    HeldAnswers held(held_bytes);
    const auto work = [&](unsigned) {
      while (!held.is_full()) {
        const std::size_t i = next++;
        if (i >= some) break;
        put_off[i] = !answer(from + i, answers[i], held);
      }
    };
    const auto useful = static_cast<unsigned>(std::min<std::size_t>(threads, some));
    // Calling other threads takes longer than a short answer.
    if (useful == 1)
      work(0);
    else
      on_threads(useful, [&] { tbb::parallel_for(0u, useful, work, tbb::simple_partitioner()); });
    // Whoever took a number also answered it, or put it off.
    done = std::min<std::size_t>(next, some);
    for (std::size_t i = 0; i < done; ++i) {
      HeldAnswers none(held_bytes);
      if (put_off[i]) answer(from + i, answers[i], none);
      take(from + i, answers[i]);
      answers[i] = {};
    }
  }
}

/// The same for answers that never put themselves off: answer(i, Answer&). bytes_of(const Answer&) is what one takes.
template <class Answer, class Make, class BytesOf, class Take>
void answer_in_batches(std::size_t count, unsigned threads, std::uint64_t held_bytes, Make&& answer, BytesOf&& bytes_of,
                       Take&& take) {
  const auto make = [&](std::size_t i, Answer& made, HeldAnswers& held) {
    answer(i, made);
    held.add(bytes_of(made));
    return true;
  };
  answer_or_put_off_in_batches<Answer>(count, threads, held_bytes, make, take);
}

}  // namespace quern
