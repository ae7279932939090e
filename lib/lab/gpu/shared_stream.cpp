#include "quern/lab/gpu/shared_stream.hpp"

#include <tbb/task_arena.h>

#include <atomic>
#include <chrono>

#include "quern/gpu/device/tuning.hpp"
#include "quern/lab/measuring.hpp"
#include "quern/lab/query_bench.hpp"
#include "quern/plan/query_dispatcher.hpp"

namespace quern {
namespace {

/// Maximum number of queries that a late sender submits together, like a server that finds several requests.
constexpr std::size_t max_arrivals = 64;

/// Answers the queries of a stream, checks the answers, and records response times.
class StreamWork {
 public:
  StreamWork(const CpuBackend& cpu, FallibleGpus* gpus, const StreamLog& log, const QueryAlgorithm& algorithm,
             std::size_t k, const std::vector<double>& arrivals_us)
      : cpu_(cpu),
        gpus_(gpus),
        log_(log),
        algorithm_(algorithm),
        k_(k),
        arrivals_us_(arrivals_us),
        responses_us_(arrivals_us.size()) {}

  std::vector<DispatchWorker> workers(const SharedStreamOptions& options) {
    std::vector<DispatchWorker> workers;
    for (unsigned i = 0; i < options.schedule_options.cpu_threads; ++i) {
      workers.push_back({Processor::cpu, max_for_thread,
                         [this](std::span<const WaitingQuery> queries) { answer_on_cpu(queries.front()); }});
    }
    if (gpus_ == nullptr) return workers;
    // A limited arena, since all of TBB's threads would take the CPU's cores. Each worker has a slot.
    const unsigned batches = options.schedule_options.gpu_batches * options.schedule_options.gpus;
    const unsigned threads = std::max(options.gpu_threads, batches);
    const auto arena = std::make_shared<tbb::task_arena>(static_cast<int>(threads), batches);
    const DispatchWorker gpu_worker{
        Processor::gpu, options.max_batch,
        [this, arena](std::span<const WaitingQuery> queries) { arena->execute([&] { answer_on_gpu(queries); }); }};
    workers.insert(workers.end(), batches, gpu_worker);
    return workers;
  }

  void set_clock(const QueryDispatcher& dispatcher) { dispatcher_ = &dispatcher; }
  /// The factor for predictions of the CPU's time, as HybridBackend uses it.
  double cpu_factor() const { return cpu_correction_.factor(); }
  std::size_t place(std::uint64_t number) const { return number % log_.queries.size(); }
  std::uint64_t wrong() const { return wrong_; }
  std::vector<double> take_responses() { return std::move(responses_us_); }

 private:
  void answer_on_cpu(const WaitingQuery& query) {
    const auto begun = WallClock::now();
    const auto found = cpu_.search(log_.queries[place(query.number)], algorithm_, k_);
    const double predicted_us = log_.expected[place(query.number)].expected_cpu_us;
    if (predicted_us > 0) cpu_correction_.learn(predicted_us, us_since(begun));
    note(query.number, found);
  }
  void answer_on_gpu(std::span<const WaitingQuery> queries) {
    std::vector<QueryView> asked;
    for (const WaitingQuery& query : queries) asked.push_back(log_.queries[place(query.number)]);
    const auto found = gpus_->search({asked, &algorithm_, k_});
    for (std::size_t i = 0; i < found.size(); ++i) note(queries[i].number, found[i]);
  }
  void note(std::uint64_t number, const std::vector<ScoredDocument>& found) {
    responses_us_[number] = dispatcher_->now_us() - arrivals_us_[number];
    if (difference(log_.answers[place(number)], found)) ++wrong_;
  }

  const CpuBackend& cpu_;
  FallibleGpus* gpus_;
  const StreamLog& log_;
  const QueryAlgorithm& algorithm_;
  std::size_t k_;
  const std::vector<double>& arrivals_us_;
  std::vector<double> responses_us_;
  const QueryDispatcher* dispatcher_ = nullptr;
  CostCorrection cpu_correction_;
  std::atomic<std::uint64_t> wrong_ = 0;
};

}  // namespace

void check_stream_options(const SharedStreamOptions& options) {
  check_range("queries per second", options.queries_per_second, 1e-3, 1e9);
  check_range("seconds", options.seconds, 1e-3, 1e4);
  check_range("queries in a stream", options.queries_per_second * options.seconds, 0, 2e7);
  check_range("queries per batch", options.max_batch, 1, gpu::max_batch_queries);
  check_range("GPU threads", options.gpu_threads, 1, max_threads);
  check_range("batches per GPU", options.schedule_options.gpu_batches, 1, max_threads);
}

SharedStreamFigures measure_shared_stream(const CpuBackend& cpu, FallibleGpus* gpus, const StreamLog& log,
                                          const QueryAlgorithm& algorithm, std::size_t k,
                                          const SharedStreamOptions& options) {
  if (log.queries.empty()) throw InvalidArgument("a benchmark needs at least one query");
  check_stream_options(options);
  const auto count = static_cast<std::size_t>(std::max(1.0, options.queries_per_second * options.seconds));
  SharedStreamFigures figures;
  figures.arrivals_us = poisson_arrivals(count, options.queries_per_second, options.schedule_options.seed);
  StreamWork work(cpu, gpus, log, algorithm, k, figures.arrivals_us);
  QueryDispatcher dispatcher(schedule_policy_named(options.schedule).make(options.schedule_options),
                             work.workers(options), options.max_waiting);
  work.set_clock(dispatcher);
  // The start of the threads is not part of the stream.
  const auto begun = WallClock::now();
  const double begun_us = dispatcher.now_us();
  for (double& arrival_us : figures.arrivals_us) arrival_us += begun_us;
  std::vector<WaitingQuery> arrived;
  for (std::size_t i = 0; i < count;) {
    wait_until(begun + std::chrono::duration_cast<WallClock::duration>(
                           std::chrono::duration<double, std::micro>(figures.arrivals_us[i] - begun_us)));
    const double now_us = dispatcher.now_us();
    arrived.clear();
    do {
      arrived.push_back(log.expected[work.place(i)]);
      arrived.back().number = i;
      arrived.back().deadline_us = options.deadline_us;
      arrived.back().expected_cpu_us *= work.cpu_factor();
      ++i;
    } while (i < count && figures.arrivals_us[i] <= now_us && arrived.size() < max_arrivals);
    dispatcher.submit(arrived);
  }
  const DispatchFigures done = dispatcher.finish();
  if (work.wrong() > 0) throw Error("{} of {} answers of a stream differ from the CPU's", work.wrong(), count);
  ScheduleFigures& measured = figures.measured;
  measured.seconds = 1e-6 * (dispatcher.now_us() - begun_us);
  measured.queries = count;
  measured.on_cpu = done.on_cpu;
  measured.on_gpu = done.on_gpu;
  measured.batches = done.batches;
  std::vector<double> responses_us = work.take_responses();
  for (const double response_us : responses_us)
    measured.missed += options.deadline_us > 0 && response_us > options.deadline_us;
  measured.response = summarize(std::move(responses_us));
  for (double& arrival_us : figures.arrivals_us) arrival_us -= begun_us;
  figures.failures = done.failures;
  return figures;
}

StreamLog make_stream_log(CpuBackend& cpu, std::span<const QueryView> queries, const QueryAlgorithm& algorithm,
                          std::size_t k, unsigned threads, const CostModel& costs, std::string_view strategy,
                          std::size_t max_batch) {
  StreamLog log;
  log.queries.assign(queries.begin(), queries.end());
  log.answers.resize(queries.size());
  AnswerConsumer consumer;
  consumer.threads = threads;
  consumer.take = [&](std::size_t i, const QueryAnswer& answer) { log.answers[i] = answer.documents; };
  run(cpu, {queries, &algorithm, k}, consumer);
  const QueryPredictor predictor(costs, {algorithm.name, strategy, k, max_batch});
  for (const QueryView query : queries)
    log.expected.push_back(predictor.predict(features_of(cpu.engines(), query, algorithm.matching)));
  return log;
}

LatencySummary measure_one_by_one(const StreamLog& log, unsigned repeats, const SingleSearch& search) {
  std::vector<std::vector<double>> us(log.queries.size());
  for (unsigned pass = 0; pass < repeats; ++pass) {
    for (std::size_t i = 0; i < log.queries.size(); ++i) {
      const auto begun = WallClock::now();
      const std::vector<ScoredDocument> found = search(log.queries[i]);
      us[i].push_back(us_since(begun));
      if (const auto wrong = difference(log.answers[i], found))
        throw Error("the answer to query {} differs from the CPU's: {}", i + 1, *wrong);
    }
  }
  std::vector<double> medians_us;
  for (std::vector<double>& times : us) medians_us.push_back(median(std::move(times)));
  return summarize(std::move(medians_us));
}

}  // namespace quern
