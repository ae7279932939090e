#pragma once
#include <algorithm>
#include <cstddef>

#include "quern/core/error.hpp"
#include "quern/gpu/device/tuning.hpp"

namespace quern::gpu {

/// How many queries batches may have, as far as memory has been found to go. Host code, for one thread.
class BatchGrowth {
 public:
  /// The most queries of the next batch.
  std::size_t most() const { return most_; }
  /// A batch of so many queries was started.
  void started(std::size_t queries) {
    // Perhaps more fit by now.
    if (queries == most_) most_ *= 2;
  }
  /// There was too little memory for a batch of so many queries, of two or more.
  void too_many(std::size_t queries) { most_ = queries / 2; }
  /// The lists of a batch can't go by windows of documents, and so many of its queries fit without.
  void fitted(std::size_t queries) {
    // The next batch is not to be made of all queries that wait again, only to be given up.
    most_ = std::max<std::size_t>(queries, 1) * 2;
  }

  /// Starts a batch of the first of `waiting` queries; returns how many are in it, or 0 if memory is too small for the
  /// first one alone. `start_batch(queries)` returns how many it took of so many queries, at least one, or throws
  /// GpuOutOfMemory; then `clean_up()` undoes what it did and frees what the next attempt may need, and, if that was
  /// not enough, `take_less(queries)` sees to it that the next attempt needs less, by too_many() or otherwise. Throws
  /// what they throw, but for GpuOutOfMemory of `start_batch`.
  template <class StartBatch, class CleanUp, class TakeLess>
  std::size_t start(std::size_t waiting, const StartBatch& start_batch, const CleanUp& clean_up,
                    const TakeLess& take_less) {
    for (bool freed = false;; freed = true) {
      waiting = std::min(waiting, most_);
      try {
        const std::size_t count = start_batch(waiting);
        started(count);
        return count;
      } catch (const GpuOutOfMemory&) {
        // Less is tried below.
      }
      clean_up();
      // The first time, it may be enough that memory was freed.
      if (!freed) continue;
      if (waiting == 1) return 0;
      take_less(waiting);
    }
  }

 private:
  std::size_t most_ = max_batch_queries;
};

}  // namespace quern::gpu
