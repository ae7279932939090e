#include "quern/gpu/gpu_shards.hpp"

#include <fmt/format.h>

#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/device/in_parallel.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/search/top_k.hpp"

namespace quern {
namespace {

/// Searches under way at a time: one whose answers are merged or handed over, one that GPUs work on, and one that is
/// made ready for them.
constexpr unsigned searches_at_once = 3;

}  // namespace

GpuShards::GpuShards(std::span<const QueryEngine* const> engines, const GpuOptions& options,
                     std::span<const gpu::GpuMemoryOptions> memory, bool cpu_takes_over, Progress& progress)
    : engines_(engines.begin(), engines.end()),
      cpu_takes_over_(cpu_takes_over),
      strategy_(*options.strategy),
      on_cpu_(engines.size()) {
  // Numbers that don't exist beside GPUs that do are wrong.
  const std::vector<unsigned> gpus = gpu::gpu_numbers(options.gpu, options.gpus);
  const int shards = static_cast<int>(engines_.size()),
            per_shard = std::max(1, tbb::this_task_arena::max_concurrency() / shards);
  for (std::size_t shard = 0; shard < engines_.size(); ++shard) {
    GpuOptions own = options;
    own.memory = memory[shard];
    if (engines_.size() > 1) {
      own.gpu = gpus[shard % gpus.size()];
      own.gpus = 1;
      // The limit is for all shards of a GPU.
      if (own.memory.bytes) *own.memory.bytes /= (engines_.size() - shard % gpus.size() - 1) / gpus.size() + 1;
    }
    gpus_.push_back(std::make_unique<GpuEngine>(*engines_[shard], own, progress));
    // Searching threads have places of their own, so that none waits for another to leave.
    constexpr unsigned max_searches = 64;
    if (shards > 1) arenas_.emplace_back(per_shard + static_cast<int>(max_searches), max_searches);
  }
}

std::uint64_t GpuShards::documents() const {
  std::uint64_t sum = 0;
  for (const QueryEngine* engine : engines_) sum += engine->index().num_documents();
  return sum;
}

SearchDivision GpuShards::division() const {
  if (gpus_.size() == 1 && !gpus_.front()->keeps_all()) return GpuSearch::division();
  if (gpus_.size() == 1)
    return {gpu::overlapping_batch_queries * std::max<std::size_t>(1, gpus_.front()->gpus()), searches_at_once};
  SearchDivision division{gpus_.front()->queries_per_search(), searches_at_once};
  for (const auto& gpu : gpus_) division.queries = std::min(division.queries, gpu->queries_per_search());
  return division;
}

std::uint64_t GpuShards::missing_bytes(QueryView query) {
  std::uint64_t bytes = 0;
  for (std::size_t shard = 0; shard < gpus_.size(); ++shard) {
    bool all_found = false;
    if (!gpus_[shard]->keeps_all()) bytes += gpus_[shard]->missing_bytes(engines_[shard]->lists_of(query, all_found));
  }
  return bytes;
}

FoundDocuments GpuShards::search(const SearchRequest& request, std::span<GpuStatistics> counted) {
  if (gpus_.size() == 1) return search_shard(0, request, counted.front());
  if (request.algorithm->matching != Matching::all_else_any) return search_all(request, counted);
  SearchRequest all = request;
  all.algorithm = &algorithm_named("and");
  FoundDocuments results = search_all(all, counted);
  std::vector<std::size_t> few;
  std::vector<QueryView> queries;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].size() >= request.k) continue;
    few.push_back(i);
    queries.push_back(request.queries[i]);
  }
  if (few.empty()) return results;
  SearchRequest any = request;
  any.algorithm = &algorithm_named("auto");
  any.queries = queries;
  FoundDocuments found = search_all(any, counted);
  for (std::size_t i = 0; i < few.size(); ++i) results[few[i]] = std::move(found[i]);
  return results;
}

FoundDocuments GpuShards::search_shard(std::size_t shard, const SearchRequest& request, GpuStatistics& counted) {
  if (on_cpu_[shard]) return search_on_cpu(shard, request);
  try {
    GpuStatistics own;
    const auto find = [&] {
      return gpus_[shard]->search(request.queries, *request.algorithm, request.k, &own,
                                  passing_of(request.passing, shard));
    };
    // Isolated, so that a thread that holds a flight takes no other search while it waits for its own loops.
    FoundDocuments results =
        gpus_.size() == 1 ? find() : arenas_[shard].execute([&find] { return tbb::this_task_arena::isolate(find); });
    counted += own;
    return results;
  } catch (const CudaError& error) {
    if (!cpu_takes_over_ || gpus_.size() == 1) throw;
    if (!on_cpu_[shard].exchange(true)) {
      counted.failed_gpus.push_back(fmt::format("{}: the CPU searches this shard from now on: {}",
                                                engines_[shard]->index().name(), error.what()));
      ++num_on_cpu_;
    }
    if (num_on_cpu_ == gpus_.size()) throw;
  }
  return search_on_cpu(shard, request);
}

FoundDocuments GpuShards::search_on_cpu(std::size_t shard, const SearchRequest& request) const {
  FoundDocuments results(request.queries.size());
  gpu::in_parallel(results.size(), [&](std::size_t i) {
    results[i] = engines_[shard]->search(request.queries[i], *request.algorithm, request.k, nullptr,
                                         passing_of(request.passing, shard));
  });
  return results;
}

FoundDocuments GpuShards::search_all(const SearchRequest& request, std::span<GpuStatistics> counted) {
  std::vector<std::future<FoundDocuments>> searches;
  for (std::size_t shard = 0; shard < gpus_.size(); ++shard)
    searches.push_back(std::async(std::launch::async, [this, shard, &request, &counted] {
      return search_shard(shard, request, counted[shard]);
    }));
  FoundDocuments best(request.queries.size());
  for (std::size_t shard = 0; shard < gpus_.size(); ++shard) {
    const FoundDocuments found = searches[shard].get();
    const docid_t first = first_docid(*engines_[shard], engines_.size());
    gpu::in_parallel(best.size(), [&](std::size_t i) { add_results_of_shard(best[i], found[i], first, request.k); });
  }
  return best;
}

SearchDivision divide_for_gpus(const GpuSearch& gpus, const SearchRequest& request, std::uint64_t held_bytes) {
  // Queries whose results are kept at a time.
  constexpr std::size_t max_queries = std::size_t{1} << 16;
  const std::uint64_t query_bytes =
      gpus.shards() *
      (sizeof(QueryAnswer) + std::min<std::uint64_t>(request.k, gpus.documents()) * sizeof(ScoredDocument));
  SearchDivision division = gpus.division();
  division.queries = static_cast<std::size_t>(std::clamp<std::uint64_t>(held_bytes / division.searches / query_bytes, 1,
                                                                        std::min(division.queries, max_queries)));
  return division;
}

FoundDocuments FallibleGpus::search(const SearchRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) throw CudaError(*failure_);
  }
  std::vector<GpuStatistics> counted(statistics_.size());
  try {
    FoundDocuments results = gpus_.search(request, counted);
    const std::lock_guard lock(mutex_);
    ++searches_;
    for (std::size_t shard = 0; shard < counted.size(); ++shard) {
      unreported_.insert(unreported_.end(), counted[shard].failed_gpus.begin(), counted[shard].failed_gpus.end());
      statistics_[shard] += counted[shard];
    }
    return results;
  } catch (const CudaError& error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = error.what();
      unreported_.push_back("the CPU answers the remaining queries: " + *failure_);
    }
    throw;
  }
}

std::future<FoundOnGpus> FallibleGpus::begin(const SearchRequest& request) {
  return std::async(std::launch::async, [this, &request] {
    const auto started = WallClock::now();
    FoundOnGpus found{search(request)};
    found.query_us = us_since(started) / static_cast<double>(std::max<std::size_t>(request.queries.size(), 1));
    return found;
  });
}

void FoundOnGpus::hand_over(const AnswerConsumer& consumer) {
  AnswerConsumer own = consumer;
  // Several threads would wait for each other most of the time.
  if (!consumer.render) own.threads = 1;
  quern::hand_over(results.size(), own, [this](std::size_t i, QueryAnswer& out) {
    out.documents = std::move(results[i]);
    out.time_us = query_us;
  });
}

void FallibleGpus::report() {
  std::vector<std::string> failures;
  {
    const std::lock_guard lock(mutex_);
    failures.swap(unreported_);
  }
  for (const std::string& failure : failures) notice_(failure);
}

}  // namespace quern
