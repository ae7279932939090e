#include "quern/lab/hand_over.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "quern/core/wall_clock.hpp"
#include "quern/lab/measurement.hpp"
#include "quern/plan/query_dispatcher.hpp"
#include "quern/plan/schedule_simulation.hpp"

namespace quern {

double measure_hand_over_us(unsigned threads, double queries_per_second) {
  constexpr double seconds = 0.2, max_count = 10000;
  const auto count = static_cast<std::size_t>(std::clamp(queries_per_second * seconds, 1.0, max_count));
  const std::vector<double> arrivals_us = poisson_arrivals(count, queries_per_second, 1);
  std::vector<double> passed_us(count);
  const QueryDispatcher* clock = nullptr;
  const DispatchWorker noting{Processor::cpu, 1, [&](std::span<const WaitingQuery> queries) {
                                const WaitingQuery& query = queries.front();
                                passed_us[query.number] = clock->now_us() - query.arrival_us;
                              }};
  ScheduleOptions options;
  options.cpu_threads = threads;
  QueryDispatcher dispatcher(schedule_policy_named("cpu").make(options), std::vector(threads, noting), count);
  clock = &dispatcher;
  const auto begun = WallClock::now();
  for (std::size_t i = 0; i < count; ++i) {
    wait_until(begun + std::chrono::duration_cast<WallClock::duration>(
                           std::chrono::duration<double, std::micro>(std::min(arrivals_us[i], 1e6 * seconds))));
    WaitingQuery query;
    query.number = i;
    dispatcher.submit(query);
  }
  dispatcher.finish();
  // The median, since a core taken away for a while would dominate the mean.
  std::nth_element(passed_us.begin(), passed_us.begin() + static_cast<std::ptrdiff_t>(count / 2), passed_us.end());
  return passed_us[count / 2];
}

}  // namespace quern
