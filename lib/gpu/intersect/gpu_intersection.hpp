#pragma once
#include "quern/gpu/intersect/intersect_worker.hpp"

namespace quern {

/// Finds the documents with all terms of a query on one or several GPUs, with the same results as Intersection. Each
/// GPU has the whole index and a host thread that takes batches from a common queue. A GPU that fails is not used
/// again, and the others answer its queries. Not thread-safe.
class GpuIntersection {
 public:
  using Take = std::function<void(std::size_t query, std::span<const docid_t> documents)>;

  /// Copies the index to all GPUs. Throws CudaError if there is no GPU or one has too little memory; InvalidArgument if
  /// there are fewer GPUs than requested, or the options don't suit the method.
  GpuIntersection(const IndexReader& index, const GpuIntersectionMethod& method, const GpuIntersectionOptions& options,
                  Progress& progress);

  /// Changes the method; the index stays on the GPUs. If the options have fewer GPUs, the last ones stay idle. Drops
  /// unpacked lists unless `keep_unpacked` is set and the new method unpacks lists in the same way.
  void use(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options, bool keep_unpacked = false);
  const GpuIntersectionMethod& method() const { return *context_.method; }
  bool bucketing() const { return context_.bucketing(); }

  /// Calls take(i, documents) for each query, in this thread; docIDs rise, and the span is valid until take() returns.
  /// The order is that of the queries or, with bucketing(), that of their buckets; it does not depend on the number of
  /// GPUs. With several GPUs, early answers wait in memory. Throws CudaError if no GPU is left, after delivering
  /// earlier answers; CorruptFile if lists don't decode.
  void run(std::span<const QueryView> asked, const Take& take, GpuIntersectionStatistics* statistics = nullptr);

  /// GPUs that have not failed.
  std::size_t gpus() const { return workers_.size(); }
  /// GPU memory that stays allocated on each GPU: its lists and rows, and the room for more lists.
  std::uint64_t device_bytes() const { return workers_.front().device_bytes(); }

 private:
  using Queue = gpu::WorkQueue<IntersectionQuery>;

  /// The queries in the order of their answers. Adds its time to `prepare_us`.
  std::vector<IntersectionQuery*> in_order(std::span<const QueryView> asked, double& prepare_us);
  /// Answers on several GPUs, each with its own thread.
  void run_in_threads(Queue& queue, std::span<IntersectionQuery* const> queries, std::size_t busy, const Take& take,
                      GpuIntersectionStatistics& counted);
  void process(Queue& queue, std::size_t busy, const IntersectWorker::Take& take, GpuIntersectionStatistics& counted);

  IntersectionContext context_;
  gpu::WorkerPool<IntersectWorker> workers_;
  std::vector<IntersectionQuery> queries_;  ///< reused by later calls of run()
};

}  // namespace quern
