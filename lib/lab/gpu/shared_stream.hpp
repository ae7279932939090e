#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/gpu/worker/gpu_engine.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/schedule_simulation.hpp"
#include "quern/search/query_engine.hpp"

namespace quern {

/// A stream of queries, and who answers it.
struct SharedStreamOptions {
  std::string schedule = "first";
  ScheduleOptions schedule_options;  ///< with the threads of the CPU, none: 0
  double queries_per_second = 1000;  ///< that arrive, on average: a Poisson process with the schedule's seed
  double seconds = 2;                ///< length of the stream
  double deadline_us = 0;            ///< 0: none
  std::size_t max_batch = 256;       ///< queries that a GPU answers together
  unsigned gpu_threads = 2;          ///< that prepare a GPU's batches
  std::size_t max_waiting = 65536;   ///< more than this do not enter
};

/// Throws InvalidArgument if a number is out of its range.
void check_stream_options(const SharedStreamOptions& options);

struct SharedStreamFigures {
  ScheduleFigures measured;           ///< no busy shares, which nobody measures
  std::vector<double> arrivals_us;    ///< when queries were to arrive; responses count from there
  std::vector<std::string> failures;  ///< of processors
};

/// The queries of a log, their right answers, and what is known of each before it runs.
struct StreamLog {
  std::vector<QueryView> queries;
  std::vector<std::vector<ScoredDocument>> answers;
  std::vector<WaitingQuery> expected;
};

/// Sends the log's queries, again and again, to threads of the CPU and, unless it is null, to a GPU engine, which
/// answer them as the schedule says. The clock is real: a machine needs one more core than threads, which sends: where
/// there are fewer, threads that wait for each other's cores take milliseconds. Throws
/// Error if an answer is wrong, InvalidArgument without queries or for an option out of its range, and what
/// QueryDispatcher::finish() throws.
SharedStreamFigures measure_shared_stream(const QueryEngine& engine, GpuEngine* gpu, const StreamLog& log,
                                          const QueryAlgorithm& algorithm, std::size_t k,
                                          const SharedStreamOptions& options);

/// The answers by the CPU, and predictions by `costs`.
StreamLog make_stream_log(const QueryEngine& engine, std::span<const QueryView> queries,
                          const QueryAlgorithm& algorithm, std::size_t k, unsigned threads, const CostModel& costs,
                          std::string_view strategy, std::size_t max_batch);

}  // namespace quern
