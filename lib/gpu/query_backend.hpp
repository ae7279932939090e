#pragma once
#include "quern/gpu/hybrid_backend.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"

/// Answers queries on GPUs as long as they work, and on the CPU otherwise. Results are the same on both.
namespace quern {

/// Where queries run. `automatic`: on a GPU if one can answer, else on the CPU. `both`: see HybridBackend.
enum class QueryDevice : std::uint8_t { cpu, gpu, automatic, both };

/// All devices, by their names in options; `both` is the last.
inline constexpr std::array<NamedValue<QueryDevice>, 4> all_query_devices = {
    {{"cpu", QueryDevice::cpu, "on the CPU"},
     {"gpu", QueryDevice::gpu, "on GPUs; an error without one"},
     {"auto", QueryDevice::automatic, "on GPUs if there are any, else on the CPU"},
     {"both", QueryDevice::both, "on the CPU and on GPUs at the same time; an error without a GPU"}}};
/// Without `both`.
inline constexpr std::span<const NamedValue<QueryDevice>> devices_one_at_a_time(all_query_devices.data(), 3);

/// Throws CudaError if this machine, or this build, has no GPU; InvalidArgument if it has none of that number.
void require_gpu(unsigned gpu);

/// Answers queries on GPUs and, once they have failed, on the CPU if it may take over.
class FailoverBackend final : public SearchBackend {
 public:
  /// `cpu` answers queries that GPUs can't: after a failure, or with a filter if the strategy supports none; a notice
  /// says so. Null: such queries fail. All must outlive the object.
  FailoverBackend(FallibleGpus& gpus, CpuBackend* cpu, FailoverNotice notice)
      : gpus_(gpus), cpu_(cpu), notice_(std::move(notice)) {}

  /// Throws InvalidArgument for a filter that GPUs don't support, unless a CPU takes part.
  std::unique_ptr<PendingSearch> begin(const SearchRequest& request) override;
  void finish(PendingSearch& search, const AnswerConsumer& consumer) override;
  SearchDivision division(const SearchRequest& request, std::uint64_t held_bytes) override;

 private:
  class Pending;

  /// Whether GPUs answer queries with this filter, as far as it is known now.
  bool on_gpus(ShardFilters passing);

  FallibleGpus& gpus_;
  CpuBackend* const cpu_;
  FailoverNotice notice_;
  std::atomic<bool> filter_reported_ = false;
};

/// Takes the answers of a FailoverIntersection, in the calling thread.
struct IntersectionSteps {
  /// Called for each query, in their order.
  std::function<void(std::size_t query, std::span<const docid_t> documents)> take;
  /// Called for each query that the CPU answered.
  std::function<void(const IntersectionStatistics& statistics)> count_cpu;
  /// Called for queries that a GPU answered together in `time_us` microseconds, without the time spent in `take`.
  std::function<void(const GpuIntersectionStatistics& statistics, double time_us)> count_gpu;
};

/// Finds all documents with all terms of a query, without scores.
class FailoverIntersection {
 public:
  /// Copies the index to the GPUs unless `device` is the CPU; an empty `gpu_method` is the default. Throws like
  /// GpuIntersection, except with `automatic`: then `notice` is called, and the CPU answers. `cpu` must outlive it.
  FailoverIntersection(const Intersection& cpu, QueryDevice device, std::string_view gpu_method,
                       const GpuIntersectionOptions& options, Progress& progress, FailoverNotice notice);

  /// Answers all queries, on `threads` threads if the CPU does it. If the GPU fails, throws CudaError if the device is
  /// a GPU, else the CPU answers the other queries.
  void run(std::span<const QueryView> queries, unsigned threads, const IntersectionSteps& steps,
           std::uint64_t held_bytes = default_held_bytes);
  /// The method that answers, or answered first if the GPU failed.
  std::string_view method_name() const { return gpu_ ? gpu_->method().name : cpu_.method().name; }

 private:
  /// Returns the number of queries answered; fewer than all if the CPU must answer the others.
  std::size_t run_on_gpu(std::span<const QueryView> queries, const IntersectionSteps& steps);

  const Intersection& cpu_;
  QueryDevice device_;
  FailoverNotice notice_;
  std::unique_ptr<GpuIntersection> gpu_;  ///< null: the CPU answers
};

/// Which processors answer queries, and how.
struct BackendOptions {
  QueryDevice device = QueryDevice::cpu;
  GpuOptions gpu;
  std::vector<gpu::GpuMemoryOptions> shard_memory = {};  ///< of GPUs, for each shard; empty: as `gpu` says
  HybridOptions hybrid = {};  ///< with `both`; strategy and what GPUs lack are those of `gpu`, batches no larger
  CostModel costs = {};       ///< likewise
  FailoverNotice notice = [](const std::string&) {};
};

/// The backend of a device, for an index in shards or not.
class QueryBackend {
 public:
  /// Copies the index to GPUs that are to answer queries. `engines`: as CpuBackend takes them. Throws like GpuShards
  /// if the device needs a GPU. With `automatic` it calls the notice and answers on the CPU instead, except that GPU
  /// numbers which don't exist beside GPUs that do are errors (InvalidArgument).
  QueryBackend(std::vector<const QueryEngine*> engines, BackendOptions options, Progress& progress);

  QueryBackend(const QueryBackend&) = delete;
  QueryBackend& operator=(const QueryBackend&) = delete;

  SearchBackend& backend() { return *backend_; }
  /// For single queries in the calling thread.
  const CpuBackend& cpu() const { return cpu_; }
  /// Statistics of GPUs, by shard; empty: there are none.
  std::vector<GpuStatistics> gpu_statistics() const {
    return gpus_ ? gpus_->statistics() : std::vector<GpuStatistics>();
  }
  /// How queries were shared; null unless the device is `both`.
  const HybridFigures* hybrid() const { return hybrid_ ? &hybrid_->figures() : nullptr; }

 private:
  CpuBackend cpu_;
  std::unique_ptr<GpuShards> shards_;  ///< null: the CPU answers
  std::unique_ptr<FallibleGpus> gpus_;
  std::unique_ptr<FailoverBackend> failover_;
  std::unique_ptr<HybridBackend> hybrid_;
  SearchBackend* backend_;
};

}  // namespace quern

namespace quern::gpu {

/// A second stage on this device; null if the CPU reranks. With `automatic`, options.notice gets the reason if no GPU
/// does. options.cpu_goes_on follows from the device. `on_cpu` must outlive it. Throws like
/// GpuReranker, and like require_gpu() if `device` needs a GPU.
std::unique_ptr<GpuReranker> make_gpu_reranker(const Reranker& on_cpu, QueryDevice device, GpuRerankOptions options,
                                               Progress& progress);

}  // namespace quern::gpu
