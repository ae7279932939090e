#include "quern/schedule/schedule_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"

namespace quern {
namespace {

/// Work that a processor has begun.
struct Running {
  double end_us = 0;
  std::uint64_t order = 0;  ///< of beginning, which decides between equal ends
  Processor processor = Processor::cpu;
  std::vector<std::uint64_t> queries;

  bool operator>(const Running& other) const {
    return end_us != other.end_us ? end_us > other.end_us : order > other.order;
  }
};

class Simulation {
 public:
  Simulation(std::span<const SimulatedQuery> queries, const SimulatedMachine& machine, ScheduleQueues& schedule)
      : queries_(queries),
        machine_(machine),
        schedule_(schedule),
        idle_cpu_(machine.cpu_threads),
        idle_gpu_(machine.gpus),
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
      // What happens at the same time is seen as a whole.
      if (happens_now(arrived)) continue;
      start_all(Processor::gpu, idle_gpu_);
      start_all(Processor::cpu, idle_cpu_);
    }
    if (schedule_.size() > 0)
      throw InvalidArgument("this schedule gives queries to a kind of processor that the machine does not have");
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
    ++(ended.processor == Processor::cpu ? idle_cpu_ : idle_gpu_);
    schedule_.ended(ended.processor);
    for (const std::uint64_t query : ended.queries) {
      const WaitingQuery& waiting = queries_[query].waiting;
      responses_us_[query] = now_us_ - waiting.arrival_us;
      if (waiting.deadline_us > 0 && responses_us_[query] > waiting.deadline_us) ++figures_.missed;
    }
  }

  void start_all(Processor processor, unsigned& idle) {
    const bool on_gpu = processor == Processor::gpu;
    for (; idle > 0; --idle) {
      const auto taken = schedule_.take(processor, now_us_, on_gpu ? machine_.max_batch : 1);
      if (taken.empty()) return;
      Running work{now_us_ + (on_gpu ? machine_.gpu_batch_us : 0), begun_++, processor, {}};
      for (const WaitingQuery& query : taken) {
        const SimulatedQuery& of = queries_[query.number];
        work.end_us += on_gpu ? of.gpu_us : of.cpu_us;
        work.queries.push_back(query.number);
      }
      (on_gpu ? gpu_busy_us_ : cpu_busy_us_) += work.end_us - now_us_;
      (on_gpu ? figures_.on_gpu : figures_.on_cpu) += taken.size();
      if (on_gpu) ++figures_.batches;
      running_.push(std::move(work));
    }
  }

  ScheduleFigures figures() {
    figures_.queries = queries_.size();
    figures_.response = summarize(responses_us_);
    figures_.seconds = 1e-6 * now_us_;
    const auto share = [&](double busy_us, unsigned processors) {
      return now_us_ > 0 && processors > 0 ? busy_us / now_us_ / processors : 0;
    };
    figures_.cpu_busy_share = share(cpu_busy_us_, machine_.cpu_threads);
    figures_.gpu_busy_share = share(gpu_busy_us_, machine_.gpus);
    return figures_;
  }

  std::span<const SimulatedQuery> queries_;
  const SimulatedMachine& machine_;
  ScheduleQueues& schedule_;
  double now_us_ = 0, cpu_busy_us_ = 0, gpu_busy_us_ = 0;
  unsigned idle_cpu_, idle_gpu_;
  std::uint64_t begun_ = 0;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::vector<double> responses_us_;
  ScheduleFigures figures_;
};

void check(std::span<const SimulatedQuery> queries, const SimulatedMachine& machine) {
  const auto is_time = [](double us) { return us >= 0 && std::isfinite(us); };
  if (!is_time(machine.gpu_batch_us) || machine.max_batch == 0)
    throw InvalidArgument("a simulated GPU needs a batch of at least one query, and no negative times");
  double last_us = 0;
  for (const SimulatedQuery& query : queries) {
    const WaitingQuery& of = query.waiting;
    for (const double us :
         {of.arrival_us, of.deadline_us, of.expected_cpu_us, of.expected_gpu_us, query.cpu_us, query.gpu_us})
      if (!is_time(us)) throw InvalidArgument("a simulated query has a time that is negative or not finite");
    if (of.arrival_us < last_us) throw InvalidArgument("simulated queries are not in the order of their arrivals");
    last_us = of.arrival_us;
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
