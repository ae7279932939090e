#include "quern/gpu/engine/query_queue.hpp"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "quern/gpu/common/tuning.hpp"

namespace quern {

QueryQueue::QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus,
                       std::uint64_t fixed_cost)
    : fixed_cost_(fixed_cost), waiting_(std::move(queries)) {
  tbb::parallel_sort(waiting_.begin(), waiting_.end(), [](const GpuQuery* a, const GpuQuery* b) {
    return std::tie(a->postings, b->number) < std::tie(b->postings, a->number);
  });
  const std::size_t count = waiting_.size();
  if (count == 0) return;
  batches_ = (count + max_queries - 1) / max_queries;
  if (gpus <= 1) {
    batch_queries_ = (count + batches_ - 1) / batches_;
    batch_cost_ = std::numeric_limits<std::uint64_t>::max();
    return;
  }
  batches_ = std::min(count, std::max(batches_, gpus * gpu::batches_per_gpu));
  std::uint64_t cost = 0;
  for (const GpuQuery* query : waiting_) cost += cost_of(*query);
  batch_queries_ = max_queries;
  batch_cost_ = cost / batches_ + 1;
}

std::vector<GpuQuery*> QueryQueue::take() {
  const std::lock_guard lock(mutex_);
  std::vector<GpuQuery*> batch;
  for (std::uint64_t cost = 0; !waiting_.empty() && batch.size() < batch_queries_ && cost < batch_cost_;) {
    batch.push_back(waiting_.back());
    waiting_.pop_back();
    cost += cost_of(*batch.back());
  }
  return batch;
}

void QueryQueue::give_back(std::span<GpuQuery* const> queries) {
  const std::lock_guard lock(mutex_);
  waiting_.insert(waiting_.end(), queries.rbegin(), queries.rend());
}

void QueryQueue::stop() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

bool QueryQueue::empty() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty();
}

}  // namespace quern
