#pragma once
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "quern/search/query_engine.hpp"

/// Queries that a GPU answered for a part of the documents, and that the CPU goes on with. Host code.
namespace quern::gpu {

/// A query, and its results so far, which its final ones replace. What is referred to must outlive the work.
struct UnfinishedQuery {
  std::span<const WeightedList> lists;
  docid_t first = 0;  ///< the first document that was not looked at
  std::vector<ScoredDocument>* results = nullptr;
};

/// Threads of the CPU that go on with queries while GPUs answer others: see QueryEngine::resume(). They take part in no
/// other parallel work, so that nobody who waits for such work has to take one of these queries.
class ResumePool {
 public:
  /// As many threads as parallel calls have where this is called. `k`: results per query. `passing`: as in
  /// QueryEngine::search(); it must outlive the object.
  ResumePool(const QueryEngine& engine, std::size_t k, const DocumentSet* passing = nullptr);
  /// Waits for what has been begun; drops the rest, and errors.
  ~ResumePool();
  ResumePool(const ResumePool&) = delete;
  ResumePool& operator=(const ResumePool&) = delete;

  /// Hands queries over and returns. Thread-safe.
  void resume(std::span<const UnfinishedQuery> queries);
  /// Waits for all queries; this thread takes some of them. Rethrows the first error, after which the others' results
  /// are not to be used. No more queries may be handed over.
  void wait();

  /// After wait().
  std::uint64_t queries() const { return queries_; }
  /// The time of all threads, in microseconds.
  double time_us() const { return time_us_; }

 private:
  void answer(std::span<const UnfinishedQuery> queries);

  const QueryEngine& engine_;
  const std::size_t k_;
  const DocumentSet* passing_;
  tbb::task_arena arena_;
  tbb::task_group group_;
  std::atomic<bool> used_ = false;  ///< else nothing is to be waited for
  std::mutex mutex_;                ///< of what follows
  std::uint64_t queries_ = 0;
  double time_us_ = 0;
};

}  // namespace quern::gpu
