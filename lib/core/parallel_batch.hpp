#pragma once
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "quern/core/run_stage.hpp"

namespace quern {

/// Answers that are held at once before they are handed over.
inline constexpr std::size_t answers_in_batch = 2048;

/// Calls answer(i, Answer&) for 0 <= i < count in `threads` threads, which share nothing but the next i, and hands the
/// answers to take(i, const Answer&) in the order of i, in this thread.
template <class Answer, class Make, class Take>
void answer_in_batches(std::size_t count, unsigned threads, Make&& answer, Take&& take) {
  std::vector<Answer> answers;
  for (std::size_t from = 0; from < count; from += answers_in_batch) {
    const std::size_t some = std::min(answers_in_batch, count - from);
    answers.assign(some, {});
    std::atomic<std::size_t> next = 0;
    const auto work = [&](unsigned) {
      for (std::size_t i = next++; i < some; i = next++) answer(from + i, answers[i]);
    };
    on_threads(threads, [&] { tbb::parallel_for(0u, threads, work, tbb::simple_partitioner()); });
    for (std::size_t i = 0; i < some; ++i) take(from + i, answers[i]);
  }
}

}  // namespace quern
