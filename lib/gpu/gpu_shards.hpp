#pragma once
#include <tbb/task_arena.h>

#include <deque>

#include "quern/gpu/worker/gpu_engine.hpp"
#include "quern/search/search_backend.hpp"

/// GPUs that answer batches of queries over shards, until they fail.
namespace quern {

/// Receives a sentence for the user when queries move from a GPU to the CPU, or to fewer GPUs.
using FailoverNotice = std::function<void(const std::string& text)>;

using FoundDocuments = std::vector<std::vector<ScoredDocument>>;

/// Searches on GPUs. Thread-safe.
class GpuSearch {
 public:
  virtual ~GpuSearch() = default;

  /// The k best documents of each query, with docIDs of the whole index. Adds to `counted`, for each shard, what its
  /// GPUs did. Throws CudaError if no GPU is left, and as SearchBackend::finish() does.
  virtual FoundDocuments search(const SearchRequest& request, std::span<GpuStatistics> counted) = 0;
  /// Shards of the index, and documents in all of them.
  virtual std::size_t shards() const { return 1; }
  virtual std::uint64_t documents() const = 0;
  /// Throws InvalidArgument if it doesn't support filters.
  virtual void check_filters() const {}
  /// Preferred queries of a search, and searches at a time.
  virtual SearchDivision division() const { return {std::numeric_limits<std::size_t>::max(), 2}; }
  /// Whether it may lack lists of queries.
  virtual bool lacks_lists() const { return false; }
  /// Bytes of a query's lists that GPUs lack now.
  virtual std::uint64_t missing_bytes(QueryView) { return 0; }
};

/// How a request is divided for these GPUs, if answers may take `held_bytes`.
SearchDivision divide_for_gpus(const GpuSearch& gpus, const SearchRequest& request, std::uint64_t held_bytes);

/// The results of a search on GPUs.
struct FoundOnGpus {
  FoundDocuments results;
  double query_us = 0;  ///< the mean over the queries

  void hand_over(const AnswerConsumer& consumer);
};

/// GPUs that aren't used again once they have failed, with their statistics. Thread-safe.
class FallibleGpus {
 public:
  /// `gpus` must outlive the object.
  FallibleGpus(GpuSearch& gpus, FailoverNotice notice)
      : gpus_(gpus), notice_(std::move(notice)), statistics_(gpus.shards()) {}

  GpuSearch& gpus() { return gpus_; }
  /// As GpuSearch::search(). Throws CudaError also if an earlier search did.
  FoundDocuments search(const SearchRequest& request);
  /// Searches in a thread of its own. The request must outlive the search.
  std::future<FoundOnGpus> begin(const SearchRequest& request);
  bool failed() const {
    const std::lock_guard lock(mutex_);
    return failure_.has_value();
  }
  /// Reports failures since the last call, of single GPUs or of all.
  void report();
  /// Statistics by shard.
  std::vector<GpuStatistics> statistics() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  std::uint64_t searches() const {
    const std::lock_guard lock(mutex_);
    return searches_;
  }

 private:
  GpuSearch& gpus_;
  FailoverNotice notice_;
  mutable std::mutex mutex_;  ///< for the members below
  std::vector<GpuStatistics> statistics_;
  std::uint64_t searches_ = 0;
  std::optional<std::string> failure_;  ///< why they aren't used any more
  std::vector<std::string> unreported_;
};

/// Finds documents on GPUs over all shards of an index: the best of each shard's best documents are those of the whole
/// index, since shards score as it does. An index that was never cut is one shard.
class GpuShards final : public GpuSearch {
 public:
  /// `engines`, those of the shards in their order, must outlive the object. One shard is copied to all GPUs of the
  /// options. Of several, the first goes to the first GPU, the next to the one after it, and so on from the first
  /// again: each GPU has a range of documents, and decodes each list of a batch once. `memory`: of the GPUs, for each
  /// shard, with the plan of the shard; shards of a GPU divide its limit evenly. `cpu_takes_over`:
  /// for shards whose GPUs have failed, while other shards have theirs. Throws like GpuEngine.
  GpuShards(std::span<const QueryEngine* const> engines, const GpuOptions& options,
            std::span<const gpu::GpuMemoryOptions> memory, bool cpu_takes_over, Progress& progress);

  /// All shards search at the same time. and-or asks for the documents with all terms in all shards first.
  FoundDocuments search(const SearchRequest& request, std::span<GpuStatistics> counted) override;
  std::size_t shards() const override { return gpus_.size(); }
  /// Sets the maximum queries per batch. No search may be under way.
  void set_batch_queries(std::size_t queries) {
    for (const auto& gpu : gpus_) gpu->set_batch_queries(queries);
  }
  std::uint64_t documents() const override;
  void check_filters() const override { gpu::check_filters(strategy_); }
  SearchDivision division() const override;
  bool lacks_lists() const override {
    return std::any_of(gpus_.begin(), gpus_.end(), [](const auto& gpu) { return !gpu->keeps_all(); });
  }
  std::uint64_t missing_bytes(QueryView query) override;

 private:
  /// Documents with all of a query's terms or with any of them, as the request's algorithm says.
  FoundDocuments search_all(const SearchRequest& request, std::span<GpuStatistics> counted);
  /// Of one shard, with its own docIDs.
  FoundDocuments search_shard(std::size_t shard, const SearchRequest& request, GpuStatistics& counted);
  FoundDocuments search_on_cpu(std::size_t shard, const SearchRequest& request) const;

  const std::vector<const QueryEngine*> engines_;
  const bool cpu_takes_over_;
  const gpu::Strategy& strategy_;
  std::vector<std::unique_ptr<GpuEngine>> gpus_;  ///< of the shards
  /// Threads that make the batches of each of several shards. If all threads served all shards, most would wake for
  /// short loops that others have ended.
  std::deque<tbb::task_arena> arenas_;
  std::vector<std::atomic<bool>> on_cpu_;  ///< shards whose GPUs have failed
  std::atomic<std::size_t> num_on_cpu_ = 0;
};

}  // namespace quern
