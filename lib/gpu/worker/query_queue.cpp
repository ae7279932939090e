#include "quern/gpu/worker/query_queue.hpp"

#include <tbb/parallel_sort.h>

#include <tuple>

namespace quern {
namespace {

/// Sorts the most expensive queries first. Sorts copies of the keys, since other threads wrote the queries.
void sort_by_cost(std::vector<GpuQuery*>& queries) {
  struct Key {
    std::uint64_t postings;
    std::size_t number;
    GpuQuery* query;
  };
  std::vector<Key> keys;
  keys.reserve(queries.size());
  for (GpuQuery* query : queries) keys.push_back({query->postings, query->number, query});
  tbb::parallel_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(b.postings, a.number) < std::tie(a.postings, b.number);
  });
  for (std::size_t i = 0; i < keys.size(); ++i) queries[i] = keys[i].query;
}

std::size_t divided_up(std::size_t count, std::size_t by) { return (count + by - 1) / by; }

}  // namespace

QueryQueue::QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus,
                       std::uint64_t fixed_cost) {
  sort_by_cost(queries);
  const std::size_t count = queries.size();
  if (count == 0) return;
  gpu::BatchLimits<GpuQuery> limits;
  batches_ = divided_up(count, max_queries);
  if (gpus <= 1) {
    limits.queries = divided_up(count, batches_);
  } else {
    batches_ = std::min(count, std::max(batches_, gpus * gpu::batches_per_gpu));
    limits.queries = max_queries;
    limits.cost_of = [fixed_cost](const GpuQuery& query) { return query.postings + fixed_cost; };
    std::uint64_t cost = 0;
    for (const GpuQuery* query : queries) cost += limits.cost_of(*query);
    limits.cost = cost / batches_ + 1;
  }
  waiting_.start(std::move(queries), std::move(limits));
}

std::vector<GpuQuery*> QueryQueue::take() {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return unsettled_ == 0 || !waiting_.empty(); });
  std::vector<GpuQuery*> batch = waiting_.take();
  if (!batch.empty()) ++unsettled_;
  return batch;
}

void QueryQueue::settle(std::span<GpuQuery* const> back) {
  const std::lock_guard lock(mutex_);
  waiting_.give_back(back);
  --unsettled_;
  settled_.notify_all();
}

void QueryQueue::stop() {
  const std::lock_guard lock(mutex_);
  waiting_.stop();
  settled_.notify_all();
}

std::vector<std::size_t> step_sizes(std::size_t queries) {
  if (queries < 2 * gpu::first_step_queries) return {queries};
  return {gpu::first_step_queries, queries - gpu::first_step_queries};
}

}  // namespace quern
