#include "quern/plan/schedule_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"

namespace quern {
namespace {

/// Work in progress.
struct Running {
  double end_us = 0;
  std::uint64_t order = 0;  ///< of start; breaks ties of equal ends
  Processor processor = Processor::cpu;
  std::size_t gpu = 0;
  std::vector<std::uint64_t> queries;

  bool operator>(const Running& other) const {
    return end_us != other.end_us ? end_us > other.end_us : order > other.order;
  }
};

struct SimulatedGpu {
  unsigned batches = 0;  ///< in progress
  double free_us = 0;    ///< when these are done
  double busy_us = 0;
};

class Simulation {
 public:
  Simulation(std::span<const SimulatedQuery> queries, const SimulatedMachine& machine, ScheduleQueues& schedule)
      : queries_(queries),
        machine_(machine),
        schedule_(schedule),
        idle_cpu_(machine.cpu_threads),
        gpus_(machine.gpus),
        responses_us_(queries.size()) {}

  ScheduleFigures run() {
    std::size_t arrived = 0;
    while (arrived < queries_.size() || !running_.empty()) {
      const bool ends_first = !running_.empty() && (arrived == queries_.size() ||
                                                    running_.top().end_us <= queries_[arrived].waiting.arrival_us);
      if (ends_first)
        end_next();
      else
        arrive(arrived++);
      // Handles simultaneous events together.
      if (happens_now(arrived)) continue;
      start_gpus();
      start_threads();
    }
    if (schedule_.size() > 0)
      throw InvalidArgument("this schedule assigns queries to a kind of processor that the machine lacks");
    return figures();
  }

 private:
  bool happens_now(std::size_t arrived) const {
    return (arrived < queries_.size() && queries_[arrived].waiting.arrival_us <= now_us_) ||
           (!running_.empty() && running_.top().end_us <= now_us_);
  }

  void arrive(std::size_t query) {
    now_us_ = queries_[query].waiting.arrival_us;
    WaitingQuery waiting = queries_[query].waiting;
    waiting.number = query;
    schedule_.add(waiting);
  }

  void end_next() {
    const Running ended = running_.top();
    running_.pop();
    now_us_ = ended.end_us;
    if (ended.processor == Processor::cpu)
      ++idle_cpu_;
    else
      --gpus_[ended.gpu].batches;
    schedule_.ended(ended.processor, now_us_);
    for (const std::uint64_t query : ended.queries) {
      const WaitingQuery& waiting = queries_[query].waiting;
      responses_us_[query] = now_us_ - waiting.arrival_us;
      if (waiting.deadline_us > 0 && responses_us_[query] > waiting.deadline_us) ++figures_.missed;
    }
  }

  void start_threads() {
    for (; idle_cpu_ > 0; --idle_cpu_) {
      const auto taken = schedule_.take(Processor::cpu, now_us_, 1);
      if (taken.empty()) return;
      const double us = hand_over_us(taken) + queries_[taken.front().number].cpu_us;
      cpu_busy_us_ += us;
      ++figures_.on_cpu;
      begin({now_us_ + us, begun_++, Processor::cpu, 0, {}}, taken);
    }
  }

  void start_gpus() {
    // Batches go to the GPU that will be free first.
    for (auto gpu = next_gpu(); gpu != gpus_.end(); gpu = next_gpu()) {
      const auto taken = schedule_.take(Processor::gpu, now_us_, machine_.max_batch);
      if (taken.empty()) return;
      double work_us = machine_.gpu_overhead.us(taken.size());
      for (const WaitingQuery& query : taken) work_us += queries_[query.number].gpu_us;
      gpu->busy_us += work_us;
      gpu->free_us = std::max(now_us_ + hand_over_us(taken), gpu->free_us) + work_us;
      const double end_us = gpu->free_us + machine_.gpu_latency.us(taken.size());
      ++gpu->batches;
      ++figures_.batches;
      figures_.on_gpu += taken.size();
      begin({end_us, begun_++, Processor::gpu, static_cast<std::size_t>(gpu - gpus_.begin()), {}}, taken);
    }
  }
  std::vector<SimulatedGpu>::iterator next_gpu() {
    const auto rank = [&](const SimulatedGpu& gpu) {
      return std::pair(gpu.batches == machine_.gpu_batches, gpu.free_us);
    };
    const auto first =
        std::min_element(gpus_.begin(), gpus_.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return first == gpus_.end() || first->batches == machine_.gpu_batches ? gpus_.end() : first;
  }

  /// The delay of a processor that was idle, as it is when it takes a query that has just arrived.
  double hand_over_us(const std::vector<WaitingQuery>& taken) const {
    return taken.back().arrival_us == now_us_ ? machine_.hand_over_us : 0;
  }

  void begin(Running work, const std::vector<WaitingQuery>& taken) {
    for (const WaitingQuery& query : taken) work.queries.push_back(query.number);
    running_.push(std::move(work));
  }

  ScheduleFigures figures() {
    figures_.queries = queries_.size();
    figures_.response = summarize(responses_us_);
    figures_.seconds = 1e-6 * now_us_;
    const auto share = [&](double busy_us, unsigned processors) {
      return now_us_ > 0 && processors > 0 ? busy_us / now_us_ / processors : 0;
    };
    figures_.cpu_busy_share = share(cpu_busy_us_, machine_.cpu_threads);
    const double gpu_busy_us = std::accumulate(gpus_.begin(), gpus_.end(), 0.0,
                                               [](double sum, const SimulatedGpu& gpu) { return sum + gpu.busy_us; });
    figures_.gpu_busy_share = share(gpu_busy_us, machine_.gpus);
    return figures_;
  }

  std::span<const SimulatedQuery> queries_;
  const SimulatedMachine& machine_;
  ScheduleQueues& schedule_;
  double now_us_ = 0, cpu_busy_us_ = 0;
  unsigned idle_cpu_;
  std::vector<SimulatedGpu> gpus_;
  std::uint64_t begun_ = 0;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::vector<double> responses_us_;
  ScheduleFigures figures_;
};

void check(std::span<const SimulatedQuery> queries, const SimulatedMachine& machine) {
  const auto is_time = [](double us) { return us >= 0 && std::isfinite(us); };
  if (!is_time(machine.hand_over_us) || !machine.gpu_overhead.is_finite() || !machine.gpu_latency.is_finite())
    throw InvalidArgument("a time of the simulated machine is negative or not finite");
  if (machine.max_batch == 0 || machine.gpu_batches == 0)
    throw InvalidArgument("a simulated GPU needs a batch of at least one query");
  double last_us = 0;
  for (const SimulatedQuery& query : queries) {
    const WaitingQuery& waiting = query.waiting;
    for (const double us : {waiting.arrival_us, waiting.deadline_us, waiting.expected_cpu_us, waiting.expected_gpu_us,
                            query.cpu_us, query.gpu_us})
      if (!is_time(us)) throw InvalidArgument("a time of a simulated query is negative or not finite");
    if (waiting.arrival_us < last_us) throw InvalidArgument("simulated queries are not in the order of arrival");
    last_us = waiting.arrival_us;
  }
}

}  // namespace

ScheduleFigures simulate_schedule(std::span<const SimulatedQuery> queries, const SimulatedMachine& machine,
                                  ScheduleQueues& schedule) {
  check(queries, machine);
  return Simulation(queries, machine, schedule).run();
}

std::vector<double> poisson_arrivals(std::size_t count, double rate, std::uint64_t seed) {
  RandomBits random(seed);
  std::vector<double> arrivals_us(count);
  double now_us = 0;
  for (double& arrival_us : arrivals_us) {
    now_us -= 1e6 / rate * std::log(1 - random.unit());
    arrival_us = now_us;
  }
  return arrivals_us;
}

double highest_rate(const std::function<double(double rate)>& missed_share, double allowed, double lowest,
                    double highest) {
  constexpr double precision = 1.01;
  if (missed_share(lowest) > allowed) return 0;
  double good = lowest, bad = highest;
  for (;;) {
    const double next = std::min(2 * good, highest);
    if (missed_share(next) > allowed) {
      bad = next;
      break;
    }
    good = next;
    if (good >= highest) return highest;
  }
  while (bad > precision * good) {
    const double middle = std::sqrt(good * bad);
    (missed_share(middle) > allowed ? bad : good) = middle;
  }
  return good;
}

}  // namespace quern
