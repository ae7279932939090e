#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "quern/core/error.hpp"
#include "quern/gpu/gpu_shards.hpp"
#include "quern/search/search_backend.hpp"

namespace quern::testing {

/// Stands in for GPUs; its `fails_at`th search throws.
class FakeGpus final : public GpuSearch {
 public:
  explicit FakeGpus(const CpuBackend& cpu, unsigned fails_at = 0) : cpu_(cpu), fails_at_(fails_at) {}

  FoundDocuments search(const SearchRequest& request, std::span<GpuStatistics> counted) override {
    if (++searches_ == fails_at_) throw CudaError("the GPU is lost");
    if (refuse) refuse();
    FoundDocuments results;
    for (const QueryView query : request.queries)
      results.push_back(cpu_.search(query, *request.algorithm, request.k, nullptr, request.passing));
    counted.front().queries += request.queries.size();
    max_queries_ = std::max<std::uint64_t>(max_queries_, request.queries.size());
    return results;
  }
  std::uint64_t documents() const override { return cpu_.engines().front()->index().num_documents(); }
  void check_filters() const override {
    if (!filters) throw InvalidArgument("no filters here");
  }
  SearchDivision division() const override { return divided; }
  std::uint64_t missing_bytes(QueryView query) override { return missing ? missing(query) : 0; }

  unsigned searches() const { return searches_; }
  /// The maximum number of queries in a search.
  std::uint64_t max_queries() const { return max_queries_; }

  bool filters = true;
  SearchDivision divided = GpuSearch::division();
  std::function<std::uint64_t(QueryView)> missing;
  std::function<void()> refuse;  ///< called in each search; may throw

 private:
  const CpuBackend& cpu_;
  const unsigned fails_at_;
  std::atomic<unsigned> searches_ = 0;
  std::atomic<std::uint64_t> max_queries_ = 0;
};

}  // namespace quern::testing
