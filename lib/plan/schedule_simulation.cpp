#include "quern/plan/schedule_simulation.hpp"

#include <cmath>
#include <map>
#include <numeric>
#include <queue>

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

/// Rows of one device and batch size, by query number.
using Rows = std::map<std::uint64_t, const QueryTime*>;

/// The rows that match a StreamChoice.
struct ChosenRows {
  Rows cpu, alone;
  std::map<std::uint64_t, Rows> batches;  ///< on a GPU, by batch size above 1
  std::map<std::uint64_t, double> rates;  ///< by batch size

  ChosenRows(std::span<const QueryTimeTable> times, const StreamChoice& choice) {
    for (const QueryTimeTable& file : times) {
      for (const BatchRate& rate : file.rates)
        if (rate.algorithm == choice.algorithm && rate.strategy == choice.strategy && rate.k == choice.k)
          rates[rate.batch] = rate.per_second;
      for (const QueryTime& row : file.rows) {
        if (row.algorithm != choice.algorithm || row.k != choice.k) continue;
        if (row.device == Processor::cpu)
          cpu[row.query] = &row;
        else if (row.strategy == choice.strategy)
          (row.batch == 1 ? alone : batches[row.batch])[row.query] = &row;
      }
    }
  }

  /// Rows of the largest batches, or of single queries if there are none.
  const Rows& joined() const { return batches.empty() ? alone : batches.rbegin()->second; }
};

double mean_us(const Rows& rows) {
  double sum = 0;
  for (const auto& [query, row] : rows) sum += row->us;
  return sum / static_cast<double>(rows.size());
}

/// The mean extra time of a single query beyond what it adds to a batch, over queries measured both ways; often not all
/// are measured alone. `added_share`: the part of a query's share of the largest batches that it adds.
std::optional<double> besides_alone_us(const ChosenRows& rows, double added_share) {
  double sum = 0;
  std::uint64_t both = 0;
  for (const auto& [query, row] : rows.alone) {
    const auto joined = rows.joined().find(query);
    if (joined == rows.joined().end()) continue;
    sum += std::max(0.0, row->us - added_share * joined->second->us);
    ++both;
  }
  return both == 0 ? std::nullopt : std::optional(sum / static_cast<double>(both));
}

/// How long a batch delays the next one; at most its own time.
double busy_us(const ChosenRows& rows, std::size_t size, double alone_us) {
  const auto rate = rows.rates.find(size);
  return rate == rows.rates.end() ? alone_us : std::min(alone_us, 1e6 * static_cast<double>(size) / rate->second);
}

/// The components of a batch's time.
struct BatchModel {
  double added_share = 1;  ///< part of a query's time in the largest batches that keeps the GPU busy
  BatchOverhead overhead, latency;
};

BatchModel batch_model(const ChosenRows& rows) {
  if (rows.batches.empty()) return {};
  const auto size_and_us = [](const auto& batches) {
    return std::pair(static_cast<double>(batches.first), static_cast<double>(batches.first) * mean_us(batches.second));
  };
  const auto& largest = *rows.batches.rbegin();
  const auto [largest_size, largest_us] = size_and_us(largest);
  const double added_us = busy_us(rows, largest.first, largest_us) / largest_size;
  std::map<std::size_t, double> overhead, latency;
  for (const auto& batches : rows.batches) {
    const auto [size, us] = size_and_us(batches);
    const double busy = busy_us(rows, batches.first, us);
    overhead[batches.first] = std::max(0.0, busy - size * added_us);
    latency[batches.first] = us - busy;
  }
  // A single query keeps the GPU busy like the smallest batches; the rest is latency.
  const double added_share = added_us / (largest_us / largest_size);
  if (const auto besides_us = besides_alone_us(rows, added_share)) {
    const double smallest_batch_us = overhead.begin()->second;
    overhead[1] = std::min(*besides_us, smallest_batch_us);
    latency[1] = *besides_us - overhead[1];
  }
  return {added_share, BatchOverhead(overhead), BatchOverhead(latency)};
}

double min_us(const Rows& rows) {
  const auto shorter = [](const auto& a, const auto& b) { return a.second->us < b.second->us; };
  return std::min_element(rows.begin(), rows.end(), shorter)->second->us;
}

void check_same_queries(const Rows& cpu, const Rows& gpu) {
  if (cpu.empty() || gpu.empty()) return;
  const bool same = std::equal(cpu.begin(), cpu.end(), gpu.begin(), gpu.end(),
                               [](const auto& a, const auto& b) { return a.first == b.first; });
  if (!same) throw InvalidArgument("the times on the CPU and on the GPU are for different queries");
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

MeasuredStream measured_stream(std::span<const QueryTimeTable> times, const StreamChoice& choice,
                               const CostModel* costs) {
  check_same_origin(times);
  const ChosenRows rows(times, choice);
  const Rows &cpu = rows.cpu, &gpu = rows.joined();
  if (cpu.empty() && gpu.empty())
    throw InvalidArgument("the files have no times for {} with k = {}; measure them with {} and {}", choice.algorithm,
                          choice.k, option_name<"bench query times">, option_name<"bench gpu times">);
  check_same_queries(cpu, gpu);
  MeasuredStream stream;
  stream.has_cpu = !cpu.empty();
  stream.has_gpu = !gpu.empty();
  BatchModel model = batch_model(rows);
  const double alone_us = rows.batches.empty() && stream.has_gpu ? min_us(rows.alone) : 0;
  if (alone_us > 0) model.latency = BatchOverhead({{1, alone_us}});
  stream.gpu_overhead = model.overhead;
  stream.gpu_latency = model.latency;
  for (const auto& entry : cpu.empty() ? gpu : cpu) {
    const std::uint64_t number = entry.first;
    const QueryFeatures& features = entry.second->features;
    SimulatedQuery& query = stream.queries.emplace_back();
    query.waiting.blocks = features.blocks;
    if (stream.has_cpu) query.waiting.expected_cpu_us = query.cpu_us = cpu.at(number)->us;
    if (stream.has_gpu) {
      const QueryTime& on_gpu = *gpu.at(number);
      query.gpu_us = model.added_share * (on_gpu.us - alone_us);
      query.waiting.expected_gpu_us = query.gpu_us;
      query.waiting.missing_bytes = on_gpu.features.missing_bytes;
    }
    if (costs == nullptr) continue;
    const auto expected = [&](Processor device, std::uint64_t batch) {
      return costs->expected_us(
          {device, choice.algorithm, device == Processor::gpu ? choice.strategy : std::string_view(), choice.k, batch},
          features);
    };
    if (stream.has_cpu) query.waiting.expected_cpu_us = expected(Processor::cpu, 1);
    if (stream.has_gpu) query.waiting.expected_gpu_us = expected(Processor::gpu, gpu.begin()->second->batch);
  }
  return stream;
}

}  // namespace quern
