#include "quern/gpu/intersect/gpu_intersection.hpp"

#include <algorithm>
#include <memory>
#include <thread>

#include "quern/core/own_errors.hpp"
#include "quern/gpu/device/tuning.hpp"

namespace quern {
namespace {

const GpuIntersectionMethod& checked(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options) {
  check_intersection_options(method, options);
  return method;
}

}  // namespace

GpuIntersection::GpuIntersection(const IndexReader& index, const GpuIntersectionMethod& method,
                                 const GpuIntersectionOptions& options, Progress& progress) try
    : context_(index, checked(method, options), options),
      shares_(gpu::make_shares<IntersectShare>(
          gpu::gpu_numbers(options.gpu, options.gpus), progress,
          [this](unsigned gpu, Progress& all) { return std::make_unique<IntersectShare>(context_, gpu, all); })) {
} catch (...) {
  throw_own_error();
}

void GpuIntersection::use(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options,
                          bool keep_unpacked) {
  const bool keep = keep_unpacked && method.unpacking == context_.method->unpacking;
  context_.method = &checked(method, options);
  context_.options = options;
  shares_.for_each([&](IntersectShare& share) { share.prepare_method(keep); });
}

void GpuIntersection::run(std::span<const std::string_view> texts, const Take& take,
                          GpuIntersectionStatistics* statistics) {
  with_own_errors([&] {
    GpuIntersectionStatistics counted;
    counted.queries = texts.size();
    const std::vector<IntersectionQuery*> queries = in_order(texts, counted.prepare_us);
    const std::size_t gpus =
        context_.options.gpus == 0 ? shares_.size() : std::min<std::size_t>(context_.options.gpus, shares_.size());
    std::size_t batch = context_.options.batch_queries;
    if (const std::size_t batches = gpus * gpu::batches_per_gpu; gpus > 1)
      batch = std::min(batch, (queries.size() + batches - 1) / batches);
    Queue queue(queries, {batch});
    const std::size_t busy = batch == 0 ? 0 : std::min(gpus, (queries.size() + batch - 1) / batch);
    if (busy > 1)
      run_in_threads(queue, queries, busy, take, counted);
    else
      run_here(queue, take, counted);
    if (statistics) *statistics = std::move(counted);
  });
}

std::vector<IntersectionQuery*> GpuIntersection::in_order(std::span<const std::string_view> texts, double& prepare_us) {
  if (queries_.size() < texts.size()) queries_.resize(texts.size());
  std::vector<IntersectionQuery*> order;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    queries_[i].number = i;
    queries_[i].text = texts[i];
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

void GpuIntersection::process(Queue& queue, std::size_t busy, GpuIntersectionStatistics& counted) {
  shares_.process(
      queue, busy, [&](IntersectShare& share) { counted += share.take_statistics(); }, counted.failed_gpus);
}

void GpuIntersection::run_here(Queue& queue, const Take& take, GpuIntersectionStatistics& counted) {
  shares_.for_each([&](IntersectShare& share) {
    share.set_take(
        [&take](const IntersectionQuery& query, std::span<const docid_t> documents) { take(query.number, documents); });
  });
  process(queue, 1, counted);
}

void GpuIntersection::run_in_threads(Queue& queue, std::span<IntersectionQuery* const> queries, std::size_t busy,
                                     const Take& take, GpuIntersectionStatistics& counted) {
  gpu::ResultsInOrder<std::vector<docid_t>> results(queries.size());
  shares_.for_each([&](IntersectShare& share) {
    share.set_take([&results](const IntersectionQuery& query, std::span<const docid_t> documents) {
      results.put(query.place, {documents.begin(), documents.end()});
    });
  });
  std::exception_ptr failed;
  {
    const std::jthread worker([&] {
      try {
        process(queue, busy, counted);
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
