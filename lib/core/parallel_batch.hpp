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

/// Calls answer(i, Answer&) for 0 <= i < count in `threads` threads, which share nothing but the next i, and hands the
/// answers to take(i, const Answer&) in the order of i, in this thread. bytes_of(const Answer&) is what an answer
/// takes in memory; no answer is begun while those that wait to be handed over take `held_bytes` or more.
template <class Answer, class Make, class BytesOf, class Take>
void answer_in_batches(std::size_t count, unsigned threads, std::uint64_t held_bytes, Make&& answer, BytesOf&& bytes_of,
                       Take&& take) {
  std::vector<Answer> answers;
  for (std::size_t from = 0, done = 0; from < count; from += done) {
    const std::size_t some = std::min(max_held_answers, count - from);
    answers.clear();
    answers.resize(some);
    std::atomic<std::size_t> next = 0;
    std::atomic<std::uint64_t> held = 0;
    const auto work = [&](unsigned) {
      while (held == 0 || held < held_bytes) {
        const std::size_t i = next++;
        if (i >= some) break;
        answer(from + i, answers[i]);
        held += bytes_of(answers[i]);
      }
    };
    on_threads(threads, [&] { tbb::parallel_for(0u, threads, work, tbb::simple_partitioner()); });
    // Whoever took a number also answered it.
    done = std::min<std::size_t>(next, some);
    for (std::size_t i = 0; i < done; ++i) {
      take(from + i, answers[i]);
      answers[i] = {};
    }
  }
}

}  // namespace quern
