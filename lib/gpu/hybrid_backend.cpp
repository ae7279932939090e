#include "quern/gpu/hybrid_backend.hpp"

#include <iterator>

#include "quern/gpu/device/in_parallel.hpp"

namespace quern {
namespace {

/// Queries that wait, and that GPUs answer together, at most.
constexpr std::size_t max_queries_at_once = std::size_t{1} << 16;
/// For large requests, the time of every 16th query is predicted to choose the faster device.
constexpr std::size_t sample_every = 16, min_for_sample = 1024;

/// Whether two requests ask for the same of their queries.
bool ask_alike(const SearchRequest& a, const SearchRequest& b) {
  return a.algorithm == b.algorithm && a.k == b.k && std::ranges::equal(a.passing, b.passing);
}

}  // namespace

/// Queries that the schedule has, and their answers.
struct HybridBackend::Group {
  SearchRequest request;
  std::vector<Known> queries;
  std::uint64_t first_number = 0;
  std::vector<Found> found;
  std::atomic<std::size_t> left = 0;  ///< queries to be answered

  bool has(std::uint64_t number) const {
    return number >= first_number && number - first_number < request.queries.size();
  }
  Found& found_of(std::uint64_t number) { return found[number - first_number]; }
  QueryView query_of(std::uint64_t number) const { return request.queries[number - first_number]; }

  void wait() const {
    for (std::size_t some = left; some > 0; some = left) left.wait(some);
  }
};

class HybridBackend::Pending final : public PendingSearch {
 public:
  Pending(HybridBackend& backend, const SearchRequest& request) : PendingSearch(request), backend_(backend) {}
  ~Pending() override {
    if (!group) return;
    group->wait();
    const std::lock_guard lock(backend_.groups_mutex_);
    backend_.groups_.erase(group->first_number);
  }

  // Without either, the query is answered when the search is finished.
  std::shared_ptr<Group> group;      ///< if the schedule has the queries
  std::future<FoundOnGpus> on_gpus;  ///< if GPUs answer all

 private:
  HybridBackend& backend_;
};

HybridBackend::HybridBackend(const CpuBackend& cpu, FallibleGpus& gpus, CostModel costs, HybridOptions options)
    : cpu_(cpu), gpus_(gpus), costs_(std::move(costs)), options_(std::move(options)) {
  check_range("threads", options_.schedule_options.cpu_threads, 1, max_threads);
  check_range("GPU threads", options_.gpu_threads, 1, max_threads);
  check_range("batches per GPU", options_.schedule_options.gpu_batches, 1, max_threads);
  check_range("queries per batch", options_.max_batch, 1, max_queries_at_once);
  schedule_policy_named(options_.schedule);
}

SearchDivision HybridBackend::division(const SearchRequest& request, std::uint64_t held_bytes) {
  SearchDivision division = divide_for_gpus(gpus_.gpus(), request, held_bytes);
  division.searches = 2;
  return division;
}

std::unique_ptr<PendingSearch> HybridBackend::begin(const SearchRequest& request) {
  check_range("k", request.k, 1, end_docid);
  auto search = std::make_unique<Pending>(*this, request);
  const bool chooses = options_.schedule == "first" && !request.others_arrive;
  if (chooses && request.queries.size() == 1) return search;
  if (chooses && options_.deadline_us == 0 && !gpus_.failed() && gpus_are_faster(request))
    search->on_gpus = gpus_.begin(search->request());
  else
    schedule(*search);
  return search;
}

void HybridBackend::schedule(Pending& search) {
  const SearchRequest& request = search.request();
  auto group = std::make_shared<Group>();
  group->request = request;
  group->queries = predict(request);
  group->found.resize(request.queries.size());
  group->left = request.queries.size();
  if (!dispatcher_) start(group->queries);
  std::vector<WaitingQuery> waiting;
  {
    const std::lock_guard lock(groups_mutex_);
    group->first_number = next_number_;
    next_number_ += std::max<std::size_t>(request.queries.size(), 1);
    groups_.emplace(group->first_number, group);
  }
  for (const Known& known : group->queries) {
    waiting.push_back(known.query);
    waiting.back().number = group->first_number + waiting.size() - 1;
  }
  search.group = std::move(group);
  dispatcher_->submit(waiting);
}

void HybridBackend::finish(PendingSearch& pending, const AnswerConsumer& consumer) {
  auto& search = static_cast<Pending&>(pending);
  const SearchRequest& request = search.request();
  AnswerConsumer own = consumer;
  own.threads = options_.schedule_options.cpu_threads;
  if (!search.group && !search.on_gpus.valid()) {
    own.threads = 1;
    hand_over(request.queries.size(), own, [&](std::size_t, QueryAnswer& out) { answer_alone(request, out); });
    return report();
  }
  if (search.on_gpus.valid()) {
    FoundOnGpus found;
    try {
      found = search.on_gpus.get();
    } catch (const CudaError&) {
      schedule(search);
    }
    if (!search.group) {
      figures_.on_gpu.together += request.queries.size();
      report();
      return found.hand_over(own);
    }
  }
  Group& group = *search.group;
  group.wait();
  count(group);
  hand_over(request.queries.size(), own, [&](std::size_t i, QueryAnswer& out) {
    if (group.found[i].error) std::rethrow_exception(group.found[i].error);
    out = std::move(group.found[i].answer);
  });
}

std::shared_ptr<HybridBackend::Group> HybridBackend::group_of(std::uint64_t number) {
  const std::lock_guard lock(groups_mutex_);
  return std::prev(groups_.upper_bound(number))->second;
}

const QueryPredictor& HybridBackend::predictor_of(const SearchRequest& request) {
  const std::lock_guard lock(groups_mutex_);
  const StreamWorkload workload{request.algorithm->name, options_.strategy, request.k, options_.max_batch};
  return predictors_.try_emplace({request.algorithm->name, request.k}, costs_, workload).first->second;
}

HybridBackend::Known HybridBackend::predict(const QueryPredictor& predictor, const QueryFeatures& features) const {
  Known known;
  known.query = predictor.predict(features);
  known.predicted_cpu_us = known.query.expected_cpu_us;
  known.predicted_alone_us = predictor.alone_us(features);
  known.query.expected_cpu_us *= cpu_correction_.factor();
  known.alone_us = known.predicted_alone_us * alone_correction_.factor();
  known.query.deadline_us = options_.deadline_us;
  return known;
}

QueryFeatures HybridBackend::features(const SearchRequest& request, QueryView query) const {
  QueryFeatures features = features_of(cpu_.engines(), query, request.algorithm->matching);
  if (options_.counts_missing && features.terms > 0) features.missing_bytes = gpus_.gpus().missing_bytes(query);
  return features;
}

std::vector<HybridBackend::Known> HybridBackend::predict(const SearchRequest& request, std::size_t every) {
  std::vector<Known> known((request.queries.size() + every - 1) / every);
  const QueryPredictor& predictor = predictor_of(request);
  gpu::in_parallel(known.size(), [&](std::size_t i) {
    known[i] = predict(predictor, features(request, request.queries[i * every]));
  });
  return known;
}

bool HybridBackend::gpus_are_faster(const SearchRequest& request) {
  double cpu_us = 0, gpu_us = 0;
  for (const Known& known : predict(request, request.queries.size() < min_for_sample ? 1 : sample_every)) {
    cpu_us += known.query.expected_cpu_us / options_.schedule_options.cpu_threads;
    gpu_us += known.query.expected_gpu_us;
  }
  return gpu_us < cpu_us;
}

void HybridBackend::start(std::span<const Known> queries) {
  double alone_us = 0, together_us = 0;
  for (const Known& known : queries) {
    alone_us += known.alone_us;
    together_us += known.query.expected_gpu_us;
  }
  ScheduleOptions& options = options_.schedule_options;
  // The time of a GPU's batch besides what its queries add.
  options.gpu_batch_us =
      std::max(0.0, alone_us - together_us) / static_cast<double>(std::max<std::size_t>(queries.size(), 1));
  std::vector<DispatchWorker> workers(
      options.cpu_threads, {Processor::cpu, max_for_thread,
                            [this](std::span<const WaitingQuery> waiting) { answer_on_cpu(waiting.front()); }});
  // All of TBB's threads would take the cores of those that answer queries. Each worker has its place.
  const unsigned threads = std::max(options_.gpu_threads, options.gpu_batches);
  const auto arena = std::make_shared<tbb::task_arena>(static_cast<int>(threads), options.gpu_batches);
  const auto answer = [this, arena](std::span<const WaitingQuery> waiting) {
    arena->execute([&] { answer_on_gpus(waiting); });
  };
  workers.insert(workers.end(), options.gpu_batches, DispatchWorker{Processor::gpu, options_.max_batch, answer});
  dispatcher_ = std::make_unique<QueryDispatcher>(schedule_policy_named(options_.schedule).make(options),
                                                  std::move(workers), max_queries_at_once);
}

void HybridBackend::answer_alone(const SearchRequest& request, QueryAnswer& answer) {
  const auto arrived = WallClock::now();
  const QueryView query = request.queries.front();
  const Known known = predict(predictor_of(request), features(request, query));
  Processor by = known.is_faster_on_gpu() && !gpus_.failed() ? Processor::gpu : Processor::cpu;
  auto begun = WallClock::now();
  try {
    if (by == Processor::gpu) answer.documents = std::move(gpus_.search(request).front());
  } catch (const CudaError&) {
    by = Processor::cpu;
    begun = WallClock::now();
  }
  if (by == Processor::cpu)
    answer.documents = cpu_.search(query, *request.algorithm, request.k, &answer.statistics, request.passing);
  answer.time_us = us_since(begun);
  if (by == Processor::cpu)
    cpu_correction_.learn(known.predicted_cpu_us, answer.time_us);
  else
    alone_correction_.learn(known.predicted_alone_us, answer.time_us);
  count(by, known, us_since(arrived));
}

void HybridBackend::answer_on_cpu(const WaitingQuery& query) {
  const auto group = group_of(query.number);
  const SearchRequest& request = group->request;
  Found& found = group->found_of(query.number);
  try {
    const auto begun = WallClock::now();
    found.answer.documents = cpu_.search(group->query_of(query.number), *request.algorithm, request.k,
                                         &found.answer.statistics, request.passing);
    found.answer.time_us = us_since(begun);
    const double predicted_us = group->queries[query.number - group->first_number].predicted_cpu_us;
    if (predicted_us > 0) cpu_correction_.learn(predicted_us, found.answer.time_us);
  } catch (...) {
    found.error = std::current_exception();
  }
  ended(*group, query, Processor::cpu);
}

void HybridBackend::answer_on_gpus(std::span<const WaitingQuery> queries) {
  std::vector<std::shared_ptr<Group>> groups;
  for (const WaitingQuery& query : queries) {
    // Most are of the same group as the previous one.
    const bool same = !groups.empty() && groups.back()->has(query.number);
    groups.push_back(same ? groups.back() : group_of(query.number));
  }
  FoundDocuments results(queries.size());
  std::vector<std::exception_ptr> errors(queries.size());
  const auto begun = WallClock::now();
  for (std::size_t first = 0, end = 0; first < queries.size(); first = end) {
    SearchRequest request = groups[first]->request;
    std::vector<QueryView> asked;
    for (; end < queries.size() && ask_alike(request, groups[end]->request); ++end)
      asked.push_back(groups[end]->query_of(queries[end].number));
    request.queries = asked;
    try {
      std::ranges::move(gpus_.search(request), results.begin() + static_cast<std::ptrdiff_t>(first));
    } catch (const CudaError&) {
      throw;
    } catch (...) {
      std::fill(errors.begin() + static_cast<std::ptrdiff_t>(first), errors.begin() + static_cast<std::ptrdiff_t>(end),
                std::current_exception());
    }
  }
  const double us = us_since(begun) / static_cast<double>(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    Found& found = groups[i]->found_of(queries[i].number);
    found.answer.documents = std::move(results[i]);
    found.answer.time_us = us;
    found.error = errors[i];
    ended(*groups[i], queries[i], Processor::gpu);
  }
}

void HybridBackend::ended(Group& group, const WaitingQuery& query, Processor by) {
  Found& found = group.found_of(query.number);
  found.by = by;
  found.response_us = dispatcher_->now_us() - query.arrival_us;
  if (group.left.fetch_sub(1) == 1) group.left.notify_all();
}

void HybridBackend::count(const Group& group) {
  for (std::size_t i = 0; i < group.found.size(); ++i)
    count(group.found[i].by, group.queries[i], group.found[i].response_us);
  report();
}

void HybridBackend::count(Processor by, const Known& known, double response_us) {
  const bool on_gpu = by == Processor::gpu;
  HybridCounts& counts = on_gpu ? figures_.on_gpu : figures_.on_cpu;
  if (on_gpu == known.is_faster_on_gpu())
    ++counts.faster;
  else if (!on_gpu && gpus_.failed())
    ++counts.taken_over;
  else
    ++counts.slower;
  figures_.missed += options_.deadline_us > 0 && response_us > options_.deadline_us;
}

void HybridBackend::report() {
  figures_.batches = gpus_.searches();
  gpus_.report();
}

}  // namespace quern
