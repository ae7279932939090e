#include "quern/gpu/intersect/gpu_intersection.hpp"

namespace quern {

GpuIntersection::GpuIntersection(const IndexReader& index, const GpuIntersectionMethod& method,
                                 const GpuIntersectionOptions& options, Progress& progress)
    : context_(index, check_intersection_options(method, options), options),
      workers_(gpu::make_workers<IntersectWorker>(
          gpu::gpu_numbers(options.gpu, options.gpus), progress,
          [this](unsigned gpu, Progress& all) { return std::make_unique<IntersectWorker>(context_, gpu, all); })) {}

void GpuIntersection::use(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options,
                          bool keep_unpacked) {
  const bool keep = keep_unpacked && method.unpacking == context_.method->unpacking;
  context_.method = &check_intersection_options(method, options);
  context_.options = options;
  workers_.for_each([&](IntersectWorker& worker) { worker.prepare_method(keep); });
}

void GpuIntersection::run(std::span<const QueryView> asked, const Take& take, GpuIntersectionStatistics* statistics) {
  GpuIntersectionStatistics counted;
  counted.queries = asked.size();
  const std::vector<IntersectionQuery*> queries = in_order(asked, counted.prepare_us);
  const std::size_t gpus =
      context_.options.gpus == 0 ? workers_.size() : std::min<std::size_t>(context_.options.gpus, workers_.size());
  std::size_t batch = context_.options.batch_queries;
  if (const std::size_t batches = gpus * gpu::batches_per_gpu; gpus > 1)
    batch = std::min(batch, (queries.size() + batches - 1) / batches);
  Queue queue(queries, {batch});
  const std::size_t busy = batch == 0 ? 0 : std::min(gpus, (queries.size() + batch - 1) / batch);
  // On one GPU in this thread, take() gets spans of its runner's memory.
  const auto take_here = [&](const IntersectionQuery& query, std::span<const docid_t> documents) {
    take(query.number, documents);
  };
  if (busy > 1)
    run_in_threads(queue, queries, busy, take, counted);
  else
    process(queue, 1, take_here, counted);
  if (statistics) *statistics = std::move(counted);
}

std::vector<IntersectionQuery*> GpuIntersection::in_order(std::span<const QueryView> asked, double& prepare_us) {
  if (queries_.size() < asked.size()) queries_.resize(asked.size());
  std::vector<IntersectionQuery*> order;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    queries_[i].number = i;
    queries_[i].terms = asked[i];
    queries_[i].found_lists = false;
    queries_[i].is_taken = false;
    order.push_back(&queries_[i]);
  }
  if (bucketing()) {
    const auto started = WallClock::now();
    context_.find_lists(order);
    const auto bucket = [](const IntersectionQuery* query) {
      return query->lists.empty() ? 0 : length_bucket(query->lists.front().df);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const IntersectionQuery* a, const IntersectionQuery* b) { return bucket(a) < bucket(b); });
    prepare_us += us_since(started);
  }
  for (std::size_t i = 0; i < order.size(); ++i) order[i]->place = i;
  return order;
}

void GpuIntersection::process(Queue& queue, std::size_t busy, const IntersectWorker::Take& take,
                              GpuIntersectionStatistics& counted) {
  std::vector<GpuIntersectionStatistics> thread_statistics(busy);
  const auto thrown = gpu::in_threads(busy, [&](std::size_t i) {
    GpuIntersectionStatistics& own = thread_statistics[i];
    workers_.use(
        busy, [&](IntersectWorker& worker) { worker.process(queue, take, own); }, own.failed_gpus);
  });
  for (const GpuIntersectionStatistics& own : thread_statistics) counted += own;
  for (const std::exception_ptr& error : thrown)
    if (error) std::rethrow_exception(error);
}

void GpuIntersection::run_in_threads(Queue& queue, std::span<IntersectionQuery* const> queries, std::size_t busy,
                                     const Take& take, GpuIntersectionStatistics& counted) {
  gpu::ResultsInOrder<std::vector<docid_t>> results(queries.size());
  const auto put = [&results](const IntersectionQuery& query, std::span<const docid_t> documents) {
    results.put(query.place, {documents.begin(), documents.end()});
  };
  std::exception_ptr failed;
  {
    const std::jthread worker([&] {
      try {
        process(queue, busy, put, counted);
      } catch (...) {
        failed = std::current_exception();
      }
      results.end();
    });
    try {
      results.deliver(
          [&](std::size_t place, const std::vector<docid_t>& documents) { take(queries[place]->number, documents); });
    } catch (...) {
      queue.stop();
      throw;
    }
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace quern
