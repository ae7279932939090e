#include "quern/gpu/worker/resume_pool.hpp"

#include <algorithm>

#include "quern/core/wall_clock.hpp"

namespace quern::gpu {

ResumePool::ResumePool(const QueryEngine& engine, std::size_t k, const DocumentSet* passing)
    : engine_(engine), k_(k), passing_(passing), arena_(tbb::this_task_arena::max_concurrency()) {}

ResumePool::~ResumePool() {
  if (!used_) return;
  try {
    group_.cancel();
    arena_.execute([this] { group_.wait(); });
  } catch (...) {
    // Somebody else's error is on its way already.
  }
}

void ResumePool::resume(std::span<const UnfinishedQuery> queries) {
  if (queries.empty()) return;
  used_ = true;
  // Some at a time, since handing a task over takes as long as a short query.
  const auto tasks = 8 * static_cast<std::size_t>(arena_.max_concurrency());
  const std::size_t at_once = std::clamp<std::size_t>(queries.size() / tasks, 1, 16);
  for (; !queries.empty(); queries = queries.subspan(std::min(at_once, queries.size()))) {
    const auto some = queries.first(std::min(at_once, queries.size()));
    arena_.enqueue(group_.defer([this, of = std::vector(some.begin(), some.end())] { answer(of); }));
  }
}

void ResumePool::answer(std::span<const UnfinishedQuery> queries) {
  const auto begun = WallClock::now();
  for (const UnfinishedQuery& query : queries)
    *query.results = engine_.resume(query.lists, k_, query.first, *query.results, nullptr, passing_);
  const double time_us = us_since(begun);
  const std::lock_guard lock(mutex_);
  queries_ += queries.size();
  time_us_ += time_us;
}

void ResumePool::wait() {
  if (!used_) return;
  arena_.execute([this] { group_.wait(); });
}

}  // namespace quern::gpu
