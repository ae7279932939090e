#pragma once
#include "quern/gpu/gpu_shards.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/schedule_simulation.hpp"
#include "quern/search/search_backend.hpp"

namespace quern {

/// A stream of queries, and the processors that answer it.
struct SharedStreamOptions {
  std::string schedule = "first";
  ScheduleOptions schedule_options;  ///< includes the CPU's threads, which may be 0
  double queries_per_second = 1000;  ///< mean arrivals: a Poisson process with the schedule's seed
  double seconds = 2;                ///< length of the stream
  double deadline_us = 0;            ///< 0: none
  std::size_t max_batch = 256;       ///< queries per GPU batch
  unsigned gpu_threads = 2;          ///< threads that prepare a GPU's batches
  std::size_t max_waiting = 65536;   ///< submission blocks beyond this
};

/// Throws InvalidArgument if a number is out of range.
void check_stream_options(const SharedStreamOptions& options);

struct SharedStreamFigures {
  ScheduleFigures measured;           ///< without busy shares, which are not measured
  std::vector<double> arrivals_us;    ///< scheduled arrival times, from which responses count
  std::vector<std::string> failures;  ///< errors of processors
};

/// The queries of a log, their right answers, and the predictions for each.
struct StreamLog {
  std::vector<QueryView> queries;
  std::vector<std::vector<ScoredDocument>> answers;
  std::vector<WaitingQuery> expected;
};

/// Sends the log's queries repeatedly to CPU threads and, if `gpus` isn't null, to GPUs, assigned by the schedule. In
/// real time: the sender needs a core besides the threads', or threads that wait for cores take milliseconds. Throws
/// Error if an answer is wrong, InvalidArgument without queries or for an option out of range, and what
/// QueryDispatcher::finish() throws.
SharedStreamFigures measure_shared_stream(const CpuBackend& cpu, FallibleGpus* gpus, const StreamLog& log,
                                          const QueryAlgorithm& algorithm, std::size_t k,
                                          const SharedStreamOptions& options);

/// The answers by the CPU, and predictions by `costs`.
StreamLog make_stream_log(CpuBackend& cpu, std::span<const QueryView> queries, const QueryAlgorithm& algorithm,
                          std::size_t k, unsigned threads, const CostModel& costs, std::string_view strategy,
                          std::size_t max_batch);

using SingleSearch = std::function<std::vector<ScoredDocument>(QueryView query)>;

/// The times of a log's queries, sent one at a time: each query's median over `repeats` passes, at least 1. Throws
/// Error if an answer differs from the log's, and what `search` throws.
LatencySummary measure_one_by_one(const StreamLog& log, unsigned repeats, const SingleSearch& search);

}  // namespace quern
