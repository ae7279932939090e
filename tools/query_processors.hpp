#pragma once
#include <memory>
#include <optional>
#include <string>

#include "quern/gpu/failover.hpp"
#include "quern/gpu/shared_engine.hpp"

#include "command.hpp"

/// Who answers the queries of a command: the CPU, GPUs, or both.
namespace quern::tools {

/// --schedule, --deadline, --costs and what some schedules look at, for --device both.
struct SharingArguments {
  std::string schedule = "first", costs;
  double deadline_ms = 0;
  ScheduleOptions options;
};

void add_sharing_options(CLI::App& command, SharingArguments& arguments);

/// Options that another device than both would not heed are usage errors.
void check_sharing(const SharingArguments& arguments, QueryDevice device);

/// What queries are answered by and with.
struct QueryWork {
  const QueryAlgorithm& algorithm;
  std::size_t k;
  unsigned threads;
  const DocumentSet* passing = nullptr;  ///< documents that may be results; null: all
};

class QueryProcessors {
 public:
  /// Copies the index to GPUs that are to answer queries. `engine` and what `work` refers to must outlive the object.
  /// Throws as FailoverEngine does; with `both`, as GpuEngine and read_costs() do.
  QueryProcessors(const QueryEngine& engine, QueryDevice device, const GpuOptions& options,
                  const SharingArguments& sharing, const QueryWork& work, Progress& progress, FailoverNotice notice);

  /// As FailoverEngine::run() and SharedEngine::run().
  void run(std::span<const std::string_view> texts, const BatchSteps& steps, GpuStatistics& statistics,
           std::uint64_t held_bytes);
  /// Queries that arrived together, and that processors may work on already. It waits for them when it ends.
  class Begun {
   private:
    friend QueryProcessors;
    std::unique_ptr<FailoverEngine::Begun> one_;
    std::unique_ptr<SharedEngine::Group> both_;
  };
  /// As FailoverEngine::begin() and SharedEngine::begin(): one thread begins, another one may finish.
  Begun begin(std::span<const std::string_view> texts);
  /// As FailoverEngine::finish() and SharedEngine::finish().
  void finish(Begun& begun, const BatchSteps& steps, GpuStatistics& statistics, std::uint64_t held_bytes);
  /// How the queries were shared; null if they were not.
  const SharedFigures* shared() const { return both_ ? &both_->figures() : nullptr; }

 private:
  const QueryWork work_;
  std::unique_ptr<FailoverEngine> one_;
  std::unique_ptr<GpuEngine> gpus_;  ///< with `both`
  std::unique_ptr<SharedEngine> both_;
};

}  // namespace quern::tools
