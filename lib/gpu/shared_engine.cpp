#include "quern/gpu/shared_engine.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "quern/core/check_range.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/plan/query_features.hpp"

namespace quern {
namespace {

/// Queries that wait, and that GPUs answer together, at most.
constexpr std::size_t max_queries_at_once = std::size_t{1} << 16;
/// Queries that one thread looks at, at a time.
constexpr std::size_t predictions_at_once = 64;
/// Of a log, one in so many queries says where they are answered sooner, if it has enough of them.
constexpr std::size_t sample_every = 16, min_for_sample = 1024;

/// The time of a GPU's batch besides what its queries add: the mean difference between a query alone and in a batch.
double batch_us(double alone_us, double shares_us, std::size_t queries) {
  return std::max(0.0, alone_us - shares_us) / static_cast<double>(std::max<std::size_t>(queries, 1));
}

}  // namespace

SharedEngine::SharedEngine(const QueryEngine& engine, const QueryAlgorithm& algorithm, std::size_t k, BatchSearch gpus,
                           CostModel costs, SharedEngineOptions options, FailoverNotice notice)
    : engine_(engine),
      algorithm_(algorithm),
      k_(k),
      gpus_(std::move(gpus)),
      costs_(std::move(costs)),
      options_(std::move(options)),
      predictor_(costs_, {algorithm.name, options_.strategy, k, options_.max_batch}),
      notice_(std::move(notice)),
      analyzer_(engine.make_analyzer()),
      found_terms_(engine.index()) {
  check_range("k", k, 1, end_docid);
  check_range("threads", options_.schedule_options.cpu_threads, 1, max_threads);
  check_range("threads for GPUs", options_.gpu_threads, 1, max_threads);
  check_range("batches of GPUs", options_.schedule_options.gpu_batches, 1, max_threads);
  check_range("queries per batch", options_.max_batch, 1, max_queries_at_once);
  schedule_policy_named(options_.schedule);
}

void SharedEngine::run(std::span<const std::string_view> texts, const BatchSteps& steps, GpuStatistics& statistics,
                       std::uint64_t held_bytes) {
  if (is_first() && texts.size() == 1) return run_alone(texts.front(), steps, statistics);
  const std::uint64_t result_bytes =
      std::min<std::uint64_t>(k_, engine_.index().num_documents()) * sizeof(ScoredDocument);
  // Of a group that is handed over and of one that processors work on.
  const auto at_once = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(held_bytes / 2 / (result_bytes + sizeof(Found)), 1, max_queries_at_once));
  const auto begin_from = [&](std::size_t from) {
    return begin_part(texts.subspan(from, std::min(at_once, texts.size() - from)), texts.size() > at_once);
  };
  if (texts.empty()) return;
  Part next = begin_from(0);
  for (std::size_t from = 0; from < texts.size();) {
    Part part = std::exchange(next, {});
    const std::size_t end = from + part.texts.size();
    if (end < texts.size()) next = begin_from(end);
    BatchSteps of_all;
    if (steps.render) of_all.render = [&](std::size_t i, QueryAnswer& answer) { steps.render(from + i, answer); };
    of_all.take = [&](std::size_t i, const QueryAnswer& answer) { steps.take(from + i, answer); };
    finish(part, of_all, statistics, held_bytes);
    from = end;
  }
}

SharedEngine::Part SharedEngine::begin_part(std::span<const std::string_view> texts, bool has_others) {
  Part part;
  part.texts = texts;
  if (is_first() && options_.deadline_us == 0 && failure().empty() && gpus_are_faster(texts))
    // If there are others, they are begun while this one runs.
    part.on_gpus = std::async(has_others ? std::launch::async : std::launch::deferred, [this, texts] {
      const auto begun = WallClock::now();
      Results results = ask_gpus(texts);
      return TimedResults{std::move(results), us_since(begun)};
    });
  else
    part.group = begin(texts);
  return part;
}

void SharedEngine::finish(Part& part, const BatchSteps& steps, GpuStatistics& statistics, std::uint64_t held_bytes) {
  if (part.group) return finish(*part.group, steps, statistics, held_bytes);
  TimedResults found;
  try {
    found = part.on_gpus.get();
  } catch (const CudaError&) {
    part.group = begin(part.texts);
    return finish(*part.group, steps, statistics, held_bytes);
  }
  {
    const std::lock_guard lock(gpu_mutex_);
    figures_.on_gpu.together += part.texts.size();
    report(statistics);
  }
  const double us = found.us / static_cast<double>(part.texts.size());
  hand_over(part.texts.size(), steps, held_bytes, [&](std::size_t i, QueryAnswer& out) {
    out.documents = std::move(found.results[i]);
    out.time_us = us;
  });
}

void SharedEngine::hand_over(std::size_t count, const BatchSteps& steps, std::uint64_t held_bytes,
                             const std::function<void(std::size_t, QueryAnswer&)>& find) const {
  const auto render = [&](std::size_t i, QueryAnswer& out) {
    find(i, out);
    if (steps.render) steps.render(i, out);
  };
  answer_in_batches<QueryAnswer>(count, options_.schedule_options.cpu_threads, held_bytes, render, answer_bytes,
                                 steps.take);
}

std::unique_ptr<SharedEngine::Group> SharedEngine::begin(std::span<const std::string_view> texts) {
  auto group = new_group(texts);
  group->state_->left = texts.size();
  dispatcher_->submit(waiting(*group->state_));
  return group;
}

void SharedEngine::finish(Group& group, const BatchSteps& steps, GpuStatistics& statistics, std::uint64_t held_bytes) {
  GroupState& state = *group.state_;
  state.wait();
  count(state, statistics);
  hand_over(state.texts.size(), steps, held_bytes, [&](std::size_t i, QueryAnswer& out) {
    if (state.found[i].error) std::rethrow_exception(state.found[i].error);
    out = std::move(state.found[i].answer);
  });
}

SharedEngine::Group::Group(SharedEngine& engine, std::shared_ptr<GroupState> state)
    : engine_(engine), state_(std::move(state)) {
  const std::lock_guard lock(engine_.groups_mutex_);
  engine_.groups_.emplace(state_->first_number, state_);
}

SharedEngine::Group::~Group() {
  state_->wait();
  const std::lock_guard lock(engine_.groups_mutex_);
  engine_.groups_.erase(state_->first_number);
}

std::unique_ptr<SharedEngine::Group> SharedEngine::new_group(std::span<const std::string_view> texts) {
  auto state = std::make_shared<GroupState>();
  state->texts = texts;
  state->queries = predict(texts);
  state->first_number = next_number_;
  state->found.resize(texts.size());
  next_number_ += texts.size();
  if (!dispatcher_) start(state->queries);
  return std::unique_ptr<Group>(new Group(*this, std::move(state)));
}

std::shared_ptr<SharedEngine::GroupState> SharedEngine::group_of(std::uint64_t number) {
  const std::lock_guard lock(groups_mutex_);
  return std::prev(groups_.upper_bound(number))->second;
}

SharedEngine::Known SharedEngine::predict(const QueryFeatures& features) const {
  Known known;
  known.query = predictor_.predict(features);
  known.predicted_cpu_us = known.query.expected_cpu_us;
  known.predicted_alone_us = predictor_.alone_us(features);
  known.query.expected_cpu_us *= cpu_correction_.factor();
  known.alone_us = known.predicted_alone_us * alone_correction_.factor();
  known.query.deadline_us = options_.deadline_us;
  return known;
}

QueryFeatures SharedEngine::features(std::string_view text, Analyzer& analyzer) {
  bool all_found = false;
  const std::vector<WeightedList> lists = engine_.lists_of(text, analyzer, all_found, &found_terms_);
  return features(lists, all_found);
}

QueryFeatures SharedEngine::features(std::span<const WeightedList> lists, bool all_found) const {
  QueryFeatures of = features_of(lists, all_found, engine_.index().block_size(), algorithm_.matching);
  if (options_.missing_bytes && of.terms > 0) of.missing_bytes = options_.missing_bytes(lists);
  return of;
}

std::vector<SharedEngine::Known> SharedEngine::predict(std::span<const std::string_view> texts, std::size_t every) {
  std::vector<Known> queries((texts.size() + every - 1) / every);
  const auto predict_some = [&](std::size_t first, std::size_t end, Analyzer& analyzer) {
    for (std::size_t i = first; i < end; ++i) queries[i] = predict(features(texts[i * every], analyzer));
  };
  if (queries.size() <= predictions_at_once) {
    predict_some(0, queries.size(), analyzer_);
    return queries;
  }
  with_own_errors([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, queries.size(), predictions_at_once), [&](const auto& range) {
      Analyzer analyzer = engine_.make_analyzer();
      predict_some(range.begin(), range.end(), analyzer);
    });
  });
  return queries;
}

void SharedEngine::start(std::span<const Known> queries) {
  double alone_us = 0, shares_us = 0;
  for (const Known& known : queries) {
    alone_us += known.alone_us;
    shares_us += known.query.expected_gpu_us;
  }
  ScheduleOptions& options = options_.schedule_options;
  options.gpu_batch_us = batch_us(alone_us, shares_us, queries.size());
  std::vector<DispatchWorker> workers;
  for (unsigned i = 0; i < options.cpu_threads; ++i) workers.push_back(cpu_worker());
  // All of TBB's threads would take the cores of those that answer queries. Each worker has its place.
  const unsigned threads = std::max(options_.gpu_threads, options_.schedule_options.gpu_batches);
  const auto arena =
      std::make_shared<tbb::task_arena>(static_cast<int>(threads), options_.schedule_options.gpu_batches);
  for (unsigned i = 0; i < options_.schedule_options.gpu_batches; ++i) workers.push_back(gpu_worker(arena));
  dispatcher_ = std::make_unique<QueryDispatcher>(schedule_policy_named(options_.schedule).make(options),
                                                  std::move(workers), max_queries_at_once);
}

DispatchWorker SharedEngine::cpu_worker() {
  const auto analyzer = std::shared_ptr<Analyzer>(new Analyzer(engine_.make_analyzer()));
  return {Processor::cpu, most_for_thread,
          [this, analyzer](std::span<const WaitingQuery> queries) { answer_on_cpu(queries.front(), *analyzer); }};
}

DispatchWorker SharedEngine::gpu_worker(const std::shared_ptr<tbb::task_arena>& arena) {
  return {Processor::gpu, options_.max_batch,
          [this, arena](std::span<const WaitingQuery> queries) { arena->execute([&] { answer_on_gpus(queries); }); }};
}

std::vector<WaitingQuery> SharedEngine::waiting(const GroupState& group) {
  std::vector<WaitingQuery> queries(group.texts.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    queries[i] = group.queries[i].query;
    queries[i].number = group.first_number + i;
  }
  return queries;
}

bool SharedEngine::gpus_are_faster(std::span<const std::string_view> texts) {
  double cpu_us = 0, gpu_us = 0;
  for (const Known& known : predict(texts, texts.size() < min_for_sample ? 1 : sample_every)) {
    cpu_us += known.query.expected_cpu_us / options_.schedule_options.cpu_threads;
    gpu_us += known.query.expected_gpu_us;
  }
  return gpu_us < cpu_us;
}

void SharedEngine::run_alone(std::string_view text, const BatchSteps& steps, GpuStatistics& statistics) {
  const auto arrived = WallClock::now();
  bool all_found = false;
  const std::vector<WeightedList> lists = engine_.lists_of(text, analyzer_, all_found, &found_terms_);
  const Known known = predict(features(lists, all_found));
  QueryAnswer answer;
  Processor by = known.is_faster_on_gpu() && failure().empty() ? Processor::gpu : Processor::cpu;
  auto begun = WallClock::now();
  try {
    if (by == Processor::gpu) answer.documents = std::move(ask_gpus({&text, 1}).front());
  } catch (const CudaError&) {
    by = Processor::cpu;
    begun = WallClock::now();
  }
  if (by == Processor::cpu)
    answer.documents = engine_.search(lists, all_found, algorithm_, k_, &answer.statistics, options_.passing);
  answer.time_us = us_since(begun);
  if (by == Processor::cpu)
    cpu_correction_.learn(known.predicted_cpu_us, answer.time_us);
  else
    alone_correction_.learn(known.predicted_alone_us, answer.time_us);
  {
    const std::lock_guard lock(gpu_mutex_);
    count(by, known, us_since(arrived));
    report(statistics);
  }
  if (steps.render) steps.render(0, answer);
  steps.take(0, answer);
}

void SharedEngine::answer_on_cpu(const WaitingQuery& query, Analyzer& analyzer) {
  const auto group = group_of(query.number);
  const std::size_t i = query.number - group->first_number;
  Found& found = group->found[i];
  try {
    const auto begun = WallClock::now();
    found.answer.documents =
        engine_.search(group->texts[i], algorithm_, k_, analyzer, &found.answer.statistics, options_.passing);
    found.answer.time_us = us_since(begun);
    const double predicted_us = group->queries[i].predicted_cpu_us;
    if (predicted_us > 0) cpu_correction_.learn(predicted_us, found.answer.time_us);
  } catch (...) {
    found.error = std::current_exception();
  }
  ended(*group, query, Processor::cpu);
}

std::string SharedEngine::failure() {
  const std::lock_guard lock(gpu_mutex_);
  return failure_;
}

SharedEngine::Results SharedEngine::ask_gpus(std::span<const std::string_view> texts) {
  if (const std::string failed = failure(); !failed.empty()) throw CudaError(failed);
  GpuStatistics counted;
  try {
    auto results = gpus_(texts, counted);
    const std::lock_guard lock(gpu_mutex_);
    of_gpus_ += counted;
    ++batches_;
    return results;
  } catch (const CudaError& lost) {
    const std::lock_guard lock(gpu_mutex_);
    failure_ = lost.what();
    throw;
  }
}

void SharedEngine::answer_on_gpus(std::span<const WaitingQuery> queries) {
  std::vector<std::shared_ptr<GroupState>> groups;
  std::vector<std::string_view> texts;
  for (const WaitingQuery& query : queries) {
    // Most are of the same group as the one before.
    const bool same = !groups.empty() && groups.back()->has(query.number);
    groups.push_back(same ? groups.back() : group_of(query.number));
    texts.push_back(groups.back()->texts[query.number - groups.back()->first_number]);
  }
  std::vector<std::vector<ScoredDocument>> results(queries.size());
  std::exception_ptr error;
  const auto begun = WallClock::now();
  try {
    results = ask_gpus(texts);
  } catch (const CudaError&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  const double us = us_since(begun) / static_cast<double>(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    Found& found = groups[i]->found[queries[i].number - groups[i]->first_number];
    found.answer.documents = std::move(results[i]);
    found.answer.time_us = us;
    found.error = error;
    ended(*groups[i], queries[i], Processor::gpu);
  }
}

void SharedEngine::ended(GroupState& group, const WaitingQuery& query, Processor by) {
  Found& found = group.found[query.number - group.first_number];
  found.by = by;
  found.response_us = dispatcher_->now_us() - query.arrival_us;
  if (group.left.fetch_sub(1) == 1) group.left.notify_all();
}

void SharedEngine::count(const GroupState& group, GpuStatistics& statistics) {
  const std::lock_guard lock(gpu_mutex_);
  for (std::size_t i = 0; i < group.found.size(); ++i)
    count(group.found[i].by, group.queries[i], group.found[i].response_us);
  report(statistics);
}

void SharedEngine::count(Processor by, const Known& known, double response_us) {
  const bool on_gpu = by == Processor::gpu;
  SharedCounts& counts = on_gpu ? figures_.on_gpu : figures_.on_cpu;
  if (on_gpu == known.is_faster_on_gpu())
    ++counts.faster;
  else if (!on_gpu && !failure_.empty())
    ++counts.taken_over;
  else
    ++counts.slower;
  figures_.missed += options_.deadline_us > 0 && response_us > options_.deadline_us;
}

void SharedEngine::report(GpuStatistics& statistics) {
  figures_.batches = batches_;
  for (const std::string& failed : of_gpus_.failed_gpus) notice_(failed);
  statistics += std::exchange(of_gpus_, {});
  if (!failure_.empty() && !std::exchange(told_, true)) notice_("the CPU answers the remaining queries: " + failure_);
}

}  // namespace quern
