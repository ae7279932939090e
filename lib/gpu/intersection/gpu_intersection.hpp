#pragma once
#include "quern/gpu/intersection/intersect_share.hpp"

namespace quern {

/// Finds the documents that have all terms of a query, on one or several GPUs: the very documents of Intersection. Each
/// GPU has the whole index; a thread for each takes batches from one queue. A GPU that fails is left out from then on,
/// and the others answer what it had. One thread at a time uses it.
class GpuIntersection {
 public:
  using Take = std::function<void(std::size_t query, std::span<const docid_t> documents)>;

  /// Copies the index to the GPUs. Throws CudaError if there is none, or too little memory on one; InvalidArgument if
  /// there are fewer, or if the options don't suit the method.
  GpuIntersection(const IndexReader& index, const GpuIntersectionMethod& method, const GpuIntersectionOptions& options,
                  Progress& progress);

  /// Changes the method, over the same copies of the index; with fewer GPUs in the options, the last ones stay idle.
  /// Forgets what is unpacked, unless `keep_unpacked` and the method unpacks in the same way.
  void use(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options, bool keep_unpacked = false);
  const GpuIntersectionMethod& method() const { return *context_.method; }
  bool bucketing() const { return context_.bucketing(); }

  /// Calls take(i, documents) for each query, in this thread; the documents rise and are valid until it returns. In the
  /// order of the queries, unless batches are made by length (bucketing()): then by buckets. The order does not depend
  /// on the number of GPUs; with several, answers that come early are kept in memory. Throws CudaError if no GPU is
  /// left, after the answers that were found in time; CorruptFile if lists don't decode.
  void run(std::span<const std::string_view> texts, const Take& take, GpuIntersectionStatistics* statistics = nullptr);

  /// GPUs that have not failed.
  std::size_t gpus() const { return shares_.size(); }
  /// GPU memory that the index takes, on each GPU.
  std::uint64_t device_bytes() const { return shares_.front().device_bytes(); }

 private:
  using Queue = gpu::WorkQueue<IntersectionQuery>;

  /// The queries in the order in which they are answered.
  std::vector<IntersectionQuery*> in_order(std::span<const std::string_view> texts, double& prepare_us);
  /// One GPU answers in this thread, and hands documents on as they lie in its runner's memory.
  void run_here(Queue& queue, const Take& take, GpuIntersectionStatistics& counted);
  /// Several GPUs answer in threads of their own.
  void run_in_threads(Queue& queue, std::span<IntersectionQuery* const> queries, std::size_t busy, const Take& take,
                      GpuIntersectionStatistics& counted);
  void process(Queue& queue, std::size_t busy, GpuIntersectionStatistics& counted);

  IntersectionContext context_;
  gpu::GpuShares<IntersectShare> shares_;
  std::vector<IntersectionQuery> queries_;  ///< of a run; later ones use their memory again
};

}  // namespace quern
