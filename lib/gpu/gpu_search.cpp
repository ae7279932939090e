#include "quern/gpu/gpu_search.hpp"

#include <algorithm>
#include <utility>

#include "quern/core/error.hpp"

namespace quern {

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

FallibleGpus::FallibleGpus(GpuSearch& gpus, FailoverNotice notice)
    : gpus_(gpus), notice_(std::move(notice)), statistics_(gpus.shards()) {}

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

bool FallibleGpus::failed() const {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void FallibleGpus::report() {
  std::vector<std::string> failures;
  {
    const std::lock_guard lock(mutex_);
    failures.swap(unreported_);
  }
  for (const std::string& failure : failures) notice_(failure);
}

std::vector<GpuStatistics> FallibleGpus::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

std::uint64_t FallibleGpus::searches() const {
  const std::lock_guard lock(mutex_);
  return searches_;
}

}  // namespace quern
