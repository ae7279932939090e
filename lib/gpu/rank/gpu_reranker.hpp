#pragma once
#include <atomic>

#include "quern/gpu/rank/models/ranker_cache.hpp"
#include "quern/gpu/rank/rerank_flight.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/rank/run_topics.hpp"

namespace quern::gpu {

/// A query, and its results to rerank.
struct RerankJob {
  std::string_view query;
  std::vector<ScoredDocument>* documents = nullptr;
  std::uint32_t model = 0;  ///< of Reranker
};

struct GpuRerankOptions {
  unsigned gpu = 0;
  std::optional<std::uint64_t> memory_bytes;  ///< limit of GPU memory; default: the free memory without a margin
  std::uint64_t memory_divisor = 1;           ///< divides that limit, since others need the rest
  std::optional<std::uint64_t> ranker_bytes;  ///< part of it for models; default: an eighth
  std::optional<std::uint64_t> pinned_bytes;  ///< host memory that copies may pin; default: no limit
  unsigned threads = 1;                       ///< threads that rerank at the same time and share the pinned memory
  std::size_t batch_documents = FeatureBatchLimits().documents;  ///< maximum documents of a batch
  /// Calls with fewer documents go to the CPU; default: the number from which the GPU should be faster.
  std::optional<std::size_t> fewest_documents;
  bool keeps_documents = true;  ///< whether the forward file's documents stay on the GPU if they fit
  bool fast_math = false;       ///< see DeviceRanker
  /// Whether the CPU continues after a GPU failure, with a notice; otherwise the failure is thrown.
  bool cpu_goes_on = true;
  std::function<void(const std::string& text)> notice = [](const std::string&) {};
};

struct GpuRerankCounts {
  std::uint64_t documents_on_gpu = 0, documents_on_cpu = 0;
  std::uint64_t batches = 0;       ///< of the GPU
  std::uint64_t without_room = 0;  ///< documents on the CPU because the model or batch did not fit the GPU
  RankerCache::Counts models;
};

/// The second stage on a GPU: features, transformations and model, with the CPU's bits. Small calls, queries of very
/// many terms, models and batches that do not fit, damaged documents, and everything after a GPU failure go to the CPU
/// (Tadros 2015, section 4). Many threads may call it at once, each with its own Space.
class GpuReranker {
 public:
  /// `on_cpu` must outlive the object. Copies the forward file's documents to the GPU if that leaves half of the
  /// memory; otherwise each batch carries its documents. Throws CudaError, CorruptFile.
  GpuReranker(const Reranker& on_cpu, const GpuRerankOptions& options, Progress& progress);

  /// Reranker::rerank() for several queries. Also throws CudaError, if the GPU fails and the CPU may not continue.
  void rerank(std::span<const RerankJob> jobs, std::size_t k, Reranker::Space& space) const;

  const Reranker& on_cpu() const { return on_cpu_; }
  bool keeps_documents() const { return documents_ != nullptr; }
  /// Remaining GPU memory within the limit.
  std::uint64_t bytes_left() const { return on_gpu_.left() + ranker_bytes_; }
  /// Whether the GPU has failed, so the CPU does all work.
  bool has_failed() const { return failed_; }
  GpuRerankCounts counts() const {
    return {documents_on_gpu_, documents_on_cpu_, batches_, without_room_, rankers_.counts()};
  }

 private:
  struct JobRange {
    std::size_t job = 0, from = 0, count = 0;
  };
  class Pass;

  void rerank_on_cpu(const RerankJob& job, std::size_t k, Reranker::Space& space) const {
    documents_on_cpu_ += job.documents->size();
    on_cpu_.rerank(job.query, *job.documents, k, space, job.model);
  }
  void rerank_with_one(std::span<const RerankJob> jobs, std::size_t k, Reranker::Space& space) const;
  bool try_gpu(std::span<const RerankJob> jobs, std::size_t k, Reranker::Space& space) const;

  const Reranker& on_cpu_;
  const GpuRerankOptions options_;
  std::vector<std::size_t> fewest_documents_;  ///< by model
  const FeatureBatchLimits limits_;
  mutable MemoryAccount on_gpu_, pinned_;
  const std::uint64_t ranker_bytes_;                ///< for models
  std::unique_ptr<const DocumentWords> documents_;  ///< null: batches carry them
  mutable RankerCache rankers_;
  mutable SparePool<RerankFlight> flights_;
  mutable std::atomic<bool> failed_ = false;
  mutable std::atomic<std::uint64_t> documents_on_gpu_ = 0, documents_on_cpu_ = 0, batches_ = 0, without_room_ = 0;
};

/// quern::rerank_topics() with a GPU, for which threads make batches of topics.
RerankReport rerank_topics(const GpuReranker& reranker, std::span<TopicResults> topics, std::size_t k,
                           const Resources& resources);

}  // namespace quern::gpu
