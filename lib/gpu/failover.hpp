#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/named.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"

/// Answers queries on GPUs as long as they work, and on the CPU otherwise. Results are the same on both.
namespace quern {

/// Where queries run. `automatic`: on a GPU if one can answer, else on the CPU. `both`: see SharedEngine.
enum class QueryDevice : std::uint8_t { cpu, gpu, automatic, both };

/// All devices, by their names in options; `both` is the last.
inline constexpr std::array<NamedValue<QueryDevice>, 4> all_query_devices = {
    {{"cpu", QueryDevice::cpu, "on the CPU"},
     {"gpu", QueryDevice::gpu, "on GPUs; an error if there are none"},
     {"auto", QueryDevice::automatic, "on GPUs if there are any, else on the CPU"},
     {"both", QueryDevice::both, "on the CPU and on GPUs at the same time; an error if there are no GPUs"}}};
/// Without `both`.
inline constexpr std::span<const NamedValue<QueryDevice>> devices_one_at_a_time(all_query_devices.data(), 3);

/// Throws CudaError if this machine, or this build, has no GPU; InvalidArgument if it has none of that number.
void require_gpu(unsigned gpu);

/// Receives a sentence for the user when queries move from a GPU to the CPU, or to fewer GPUs.
using FailoverNotice = std::function<void(const std::string& text)>;

/// Answers queries with scores.
class FailoverEngine {
 public:
  /// Copies the index to the GPUs unless `device` is the CPU. Throws as GpuEngine does if `device` is a GPU. With
  /// `automatic` it calls `notice` and answers on the CPU instead, except that GPU numbers which don't exist beside
  /// GPUs that do are errors (InvalidArgument). `engine` must outlive the object.
  FailoverEngine(const QueryEngine& engine, QueryDevice device, const GpuOptions& options, Progress& progress,
                 FailoverNotice notice);

  /// Queries that GPUs work on already, unless the CPU answers all. It waits for them when it ends.
  class Begun;

  /// Hands queries to GPUs, and returns. `passing`: the documents that may be results; null: all. If the strategy knows
  /// no filters, throws InvalidArgument if the device is a GPU, else the CPU answers, and a notice says so. What is
  /// passed must outlive what is returned. Thread-safe.
  std::unique_ptr<Begun> begin(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k,
                               const DocumentSet* passing = nullptr);
  /// As run_batch(), of queries that were begun. Adds to `statistics` what GPUs did; the time of a query that they
  /// answer is its share of the time of all queries that were begun together. If the last GPU fails, throws CudaError
  /// if the device is a GPU, else the CPU answers these queries, and all later ones. For one thread at a time.
  void finish(Begun& begun, unsigned threads, const BatchSteps& steps, GpuStatistics& statistics,
              std::uint64_t held_bytes = default_held_bytes);
  /// The same, but returns the answers, of all queries at once.
  std::vector<QueryAnswer> answers(Begun& begun, unsigned threads, GpuStatistics& statistics);
  /// Begins and finishes any number of queries, some at a time: GPUs work on the next ones while answers are handed
  /// over. Throws as finish() does.
  void run(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k, unsigned threads,
           const BatchSteps& steps, GpuStatistics& statistics, std::uint64_t held_bytes = default_held_bytes,
           const DocumentSet* passing = nullptr);

  /// Whether GPUs answer queries with this filter, as far as it is known now. Throws as begin() does.
  bool on_gpus(const DocumentSet* passing);
  /// How many queries GPUs are best asked for at a time by who has several searches under way: fewer take longer, and
  /// more leave less to do meanwhile.
  std::size_t queries_per_search() const { return gpu_ ? gpu_->queries_per_search() : scored_queries_per_call; }

 private:
  /// Queries whose results are kept at a time: k scored documents each.
  static constexpr std::size_t scored_queries_per_call = std::size_t{1} << 16;

  /// Waits for what GPUs answered. False if the CPU must answer these queries.
  bool wait_for_gpus(Begun& begun, GpuStatistics& statistics);

  const QueryEngine& engine_;
  QueryDevice device_;
  const gpu::Strategy& strategy_;
  FailoverNotice notice_;
  std::unique_ptr<GpuEngine> gpu_;      ///< null: the CPU answers
  std::atomic<bool> gpu_lost_ = false;  ///< the CPU answers
  std::atomic<bool> told_ = false;      ///< that it answers queries with a filter
};

class FailoverEngine::Begun {
 private:
  friend FailoverEngine;
  struct Answers {
    std::vector<std::vector<ScoredDocument>> results;
    GpuStatistics statistics;
    double us = 0;

    double us_per_query() const { return us / static_cast<double>(results.size()); }
  };

  Begun(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k,
        const DocumentSet* passing)
      : texts_(texts), algorithm_(algorithm), k_(k), passing_(passing) {}

  const std::span<const std::string_view> texts_;
  const QueryAlgorithm& algorithm_;
  const std::size_t k_;
  const DocumentSet* const passing_;
  std::future<Answers> future_;  ///< of GPUs; not valid: the CPU answers
  Answers answers_;              ///< once they are there
};

/// What is done with the answers of a FailoverIntersection, all in the calling thread.
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
  /// Copies the index to the GPUs unless `device` is the CPU; an empty `gpu_method` is the default. Throws as
  /// GpuIntersection does if `device` is a GPU; with `automatic` it calls `notice` and answers on the CPU instead.
  /// `cpu` must outlive the object.
  FailoverIntersection(const Intersection& cpu, QueryDevice device, std::string_view gpu_method,
                       const GpuIntersectionOptions& options, Progress& progress, FailoverNotice notice);

  /// Answers all queries, on `threads` threads if the CPU does it. If the GPU fails, throws CudaError if the device is
  /// a GPU, else the CPU answers what is left.
  void run(std::span<const std::string_view> texts, unsigned threads, const IntersectionSteps& steps,
           std::uint64_t held_bytes = default_held_bytes);
  /// The method that answers, or answered first if the GPU failed.
  std::string_view method_name() const;

 private:
  /// Returns the number of queries answered; fewer than all if the CPU must answer the others.
  std::size_t run_on_gpu(std::span<const std::string_view> texts, const IntersectionSteps& steps);

  const Intersection& cpu_;
  QueryDevice device_;
  FailoverNotice notice_;
  std::unique_ptr<GpuIntersection> gpu_;  ///< null: the CPU answers
};

}  // namespace quern
