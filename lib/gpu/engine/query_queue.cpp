#include "quern/gpu/engine/query_queue.hpp"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <tuple>

#include "quern/gpu/device/tuning.hpp"

namespace quern {

QueryQueue::QueryQueue(std::vector<GpuQuery*> queries, std::size_t max_queries, std::size_t gpus,
                       std::uint64_t fixed_cost) {
  tbb::parallel_sort(queries.begin(), queries.end(), [](const GpuQuery* a, const GpuQuery* b) {
    return std::tie(b->postings, a->number) < std::tie(a->postings, b->number);
  });
  const std::size_t count = queries.size();
  if (count == 0) return;
  batches_ = (count + max_queries - 1) / max_queries;
  gpu::BatchLimits<GpuQuery> limits;
  if (gpus <= 1) {
    limits.items = (count + batches_ - 1) / batches_;
  } else {
    batches_ = std::min(count, std::max(batches_, gpus * gpu::batches_per_gpu));
    limits.items = max_queries;
    limits.cost_of = [fixed_cost](const GpuQuery& query) { return query.postings + fixed_cost; };
    std::uint64_t cost = 0;
    for (const GpuQuery* query : queries) cost += limits.cost_of(*query);
    limits.cost = cost / batches_ + 1;
  }
  start(std::move(queries), std::move(limits));
}

}  // namespace quern
