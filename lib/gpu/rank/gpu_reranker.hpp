#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/core/scratch_memory.hpp"
#include "quern/gpu/rank/features/document_words.hpp"
#include "quern/gpu/rank/models/ranker_cache.hpp"
#include "quern/gpu/rank/rerank_flight.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/rank/run_topics.hpp"

namespace quern::gpu {

/// Results of a query, which are to be reranked.
struct RerankJob {
  std::string_view query;
  std::vector<ScoredDocument>* documents = nullptr;
};

struct GpuRerankOptions {
  unsigned gpu = 0;
  std::optional<std::uint64_t> memory_bytes;  ///< of the GPU's memory, all; default: what is free less a margin
  std::uint64_t memory_divisor = 1;           ///< take one such nth of it, since others need the rest
  std::optional<std::uint64_t> ranker_bytes;  ///< of these, for models; default: an eighth
  /// Of host memory, what copies may pin; default: whatever they need.
  std::optional<std::uint64_t> pinned_bytes;
  unsigned threads = 1;  ///< that rerank at the same time, and share what may be pinned
  std::size_t batch_documents = FeatureBatchLimits().documents;  ///< most documents of a batch
  /// Calls with fewer documents go to the CPU; default: where the GPU is expected to take less time.
  std::optional<std::size_t> fewest_documents;
  bool keeps_documents = true;  ///< whether the forward file's documents stay on the GPU, if there is room
  bool fast_math = false;       ///< see DeviceRankerOptions
  /// Whether the CPU goes on if the GPU fails, after a sentence for the user; else the failure is thrown.
  bool cpu_goes_on = true;
  std::function<void(const std::string& text)> notice = [](const std::string&) {};
};

/// Where documents were scored.
struct GpuRerankCounts {
  std::uint64_t documents_on_gpu = 0, documents_on_cpu = 0;
  std::uint64_t batches = 0;       ///< of the GPU
  std::uint64_t without_room = 0;  ///< of the documents on the CPU: model or batch had no room on the GPU
};

/// The second stage on a GPU: features, transformations and model, with the CPU's bits. Few documents, queries of very
/// many terms, models and batches without room, damaged documents, and everything once the GPU has failed go to the
/// CPU (Tadros 2015, section 4). Many threads may use it at once, each with its own Space.
class GpuReranker {
 public:
  /// `on_cpu` must outlive it. Copies the forward file's documents to the GPU if that leaves half of the memory; else
  /// they travel with each batch. Throws CudaError, CorruptFile.
  GpuReranker(const Reranker& on_cpu, const GpuRerankOptions& options, Progress& progress);

  /// As Reranker::rerank(), for some queries together. Throws as that does, and CudaError if the GPU fails and the CPU
  /// is not to go on.
  void rerank(std::span<const RerankJob> jobs, std::size_t k, Reranker::Space& space) const;

  const Reranker& on_cpu() const { return on_cpu_; }
  /// Whether the GPU has the documents.
  bool keeps_documents() const { return documents_ != nullptr; }
  /// What it may still take of the GPU's memory.
  std::uint64_t bytes_left() const { return on_gpu_.left() + ranker_bytes_; }
  std::size_t fewest_documents() const { return fewest_documents_; }
  /// Whether the GPU has failed, so that the CPU does all.
  bool has_failed() const { return failed_; }
  GpuRerankCounts counts() const;

 private:
  /// Documents of a job that a batch has.
  struct JobRange {
    std::size_t job = 0, from = 0, count = 0;
  };
  class Pass;

  void rerank_on_cpu(const RerankJob& job, std::size_t k, Reranker::Space& space) const;
  bool try_gpu(std::span<const RerankJob> jobs, std::size_t k, Reranker::Space& space) const;

  const Reranker& on_cpu_;
  const GpuRerankOptions options_;
  const std::size_t fewest_documents_;
  const FeatureBatchLimits limits_;
  mutable MemoryAccount on_gpu_, pinned_;
  const std::uint64_t ranker_bytes_;                ///< of models
  std::unique_ptr<const DocumentWords> documents_;  ///< null: they travel
  mutable RankerCache rankers_;
  mutable SparePool<RerankFlight> flights_;
  mutable std::atomic<bool> failed_ = false;
  mutable std::atomic<std::uint64_t> documents_on_gpu_ = 0, documents_on_cpu_ = 0, batches_ = 0, without_room_ = 0;
};

/// As quern::rerank_topics(), by a GPU where that is worth it: threads make batches of topics for it.
RerankReport rerank_topics(const GpuReranker& reranker, std::span<TopicResults> topics, std::size_t k,
                           const Resources& resources);

}  // namespace quern::gpu
