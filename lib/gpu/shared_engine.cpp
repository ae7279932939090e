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
#include "quern/schedule/predicted_query.hpp"
#include "quern/schedule/query_features.hpp"

namespace quern {
namespace {

/// Queries that wait, and that GPUs answer together, at most.
constexpr std::size_t max_queries_at_once = std::size_t{1} << 16;
/// Of a log, that are worked on while those before them are handed over.
constexpr std::size_t max_queries_per_call = 8192;
/// Queries that one thread looks at, at a time.
constexpr std::size_t predictions_at_once = 64;

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
      notice_(std::move(notice)),
      analyzer_(engine.make_analyzer()) {
  check_range("k", k, 1, end_docid);
  check_range("threads", options_.schedule_options.cpu_threads, 1, max_threads);
  check_range("threads for GPUs", options_.gpu_threads, 1, max_threads);
  check_range("batches of GPUs", options_.schedule_options.gpu_batches, 1, max_threads);
  check_range("queries per batch", options_.max_batch, 1, max_queries_at_once);
  schedule_policy_named(options_.schedule);
}

void SharedEngine::run(std::span<const std::string_view> texts, const BatchSteps& steps, GpuStatistics& statistics,
                       std::uint64_t held_bytes) {
  const std::uint64_t result_bytes =
      std::min<std::uint64_t>(k_, engine_.index().num_documents()) * sizeof(ScoredDocument);
  // Of a group that is handed over and of one that processors work on.
  const auto at_once = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(held_bytes / 2 / (result_bytes + sizeof(Found)), 1, max_queries_per_call));
  const auto begin_from = [&](std::size_t from) -> std::unique_ptr<Group> {
    if (from >= texts.size()) return nullptr;
    auto group = new_group(texts.subspan(from, std::min(at_once, texts.size() - from)));
    begin_together(*group);
    return group;
  };
  auto next = begin_from(0);
  for (std::size_t from = 0; next;) {
    const auto group = std::move(next);
    const std::size_t end = from + group->state_->texts.size();
    next = begin_from(end);
    BatchSteps of_all;
    if (steps.render) of_all.render = [&](std::size_t i, QueryAnswer& answer) { steps.render(from + i, answer); };
    of_all.take = [&](std::size_t i, const QueryAnswer& answer) { steps.take(from + i, answer); };
    finish(*group, of_all, statistics, held_bytes);
    from = end;
  }
}

void SharedEngine::begin_together(Group& group) {
  const std::vector<Known>& queries = group.state_->queries;
  const bool is_first = options_.schedule == "first";
  // Handing a query over to another thread takes as long as a short query does.
  if (is_first && queries.size() == 1)
    answer_alone(group);
  else if (is_first && options_.deadline_us == 0 && gpus_are_faster(queries))
    group.on_gpus_ =
        std::async(std::launch::async, [this, state = group.state_] { return answer_all_on_gpus(*state); });
  else
    submit(group);
}

std::unique_ptr<SharedEngine::Group> SharedEngine::begin(std::span<const std::string_view> texts) {
  auto group = new_group(texts);
  submit(*group);
  return group;
}

void SharedEngine::finish(Group& group, const BatchSteps& steps, GpuStatistics& statistics, std::uint64_t held_bytes) {
  GroupState& state = *group.state_;
  // What GPUs have not answered, since they failed, is for the CPU.
  if (group.on_gpus_.valid() && !group.on_gpus_.get()) submit(group);
  state.wait();
  count(state, statistics);
  const auto render = [&](std::size_t i, QueryAnswer& out) {
    if (state.found[i].error) std::rethrow_exception(state.found[i].error);
    out = std::move(state.found[i].answer);
    if (steps.render) steps.render(i, out);
  };
  answer_in_batches<QueryAnswer>(state.texts.size(), options_.schedule_options.cpu_threads, held_bytes, render,
                                 answer_bytes, steps.take);
}

SharedEngine::Group::Group(SharedEngine& engine, std::shared_ptr<GroupState> state)
    : engine_(engine), state_(std::move(state)) {
  const std::lock_guard lock(engine_.groups_mutex_);
  engine_.groups_.emplace(state_->first_number, state_);
}

SharedEngine::Group::~Group() {
  if (on_gpus_.valid()) on_gpus_.wait();
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

std::vector<SharedEngine::Known> SharedEngine::predict(std::span<const std::string_view> texts) {
  std::vector<Known> queries(texts.size());
  const StreamWorkload workload{algorithm_.name, options_.strategy, k_, options_.max_batch};
  const CostQuestion alone{Processor::gpu, algorithm_.name, options_.strategy, k_, 1};
  const auto predict_some = [&](std::size_t first, std::size_t end, Analyzer& analyzer) {
    for (std::size_t i = first; i < end; ++i) {
      const QueryFeatures features = features_of(engine_.index(), analyzer.terms(texts[i]), algorithm_.matching);
      queries[i].query = predicted_query(costs_, features, workload);
      queries[i].query.deadline_us = options_.deadline_us;
      queries[i].alone_us = costs_.expected_us(alone, features);
    }
  };
  if (texts.size() <= predictions_at_once) {
    predict_some(0, texts.size(), analyzer_);
    return queries;
  }
  with_own_errors([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, texts.size(), predictions_at_once), [&](const auto& range) {
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
  std::vector<WaitingQuery> queries;
  for (const Known& known : group.queries) {
    queries.push_back(known.query);
    queries.back().number = group.first_number + queries.size() - 1;
  }
  return queries;
}

void SharedEngine::submit(Group& group) {
  group.state_->left = group.state_->texts.size();
  dispatcher_->submit(waiting(*group.state_));
}

bool SharedEngine::gpus_are_faster(std::span<const Known> queries) const {
  double cpu_us = 0, gpu_us = 0;
  for (const Known& known : queries) {
    cpu_us += known.query.expected_cpu_us / options_.schedule_options.cpu_threads;
    gpu_us += known.query.expected_gpu_us;
  }
  return gpu_us < cpu_us;
}

bool SharedEngine::answer_all_on_gpus(GroupState& group) {
  group.left = group.texts.size();
  std::vector<WaitingQuery> queries = waiting(group);
  for (WaitingQuery& query : queries) query.arrival_us = dispatcher_->now_us();
  try {
    answer_on_gpus(queries);
    return true;
  } catch (const CudaError&) {
    group.left = 0;  // nobody works on it
    return false;
  }
}

void SharedEngine::answer_alone(Group& group) {
  GroupState& state = *group.state_;
  const Known& known = state.queries.front();
  WaitingQuery query = known.query;
  query.number = state.first_number;
  query.arrival_us = dispatcher_->now_us();
  state.left = 1;
  const bool on_gpu = failure().empty() && known.alone_us < query.expected_cpu_us;
  try {
    if (on_gpu) return answer_on_gpus(std::span(&query, 1));
  } catch (const CudaError&) {
    // The CPU takes over.
  }
  answer_on_cpu(query, analyzer_);
}

void SharedEngine::answer_on_cpu(const WaitingQuery& query, Analyzer& analyzer) {
  const auto group = group_of(query.number);
  const std::size_t i = query.number - group->first_number;
  Found& found = group->found[i];
  try {
    const auto begun = WallClock::now();
    found.answer.documents = engine_.search(group->texts[i], algorithm_, k_, analyzer, &found.answer.statistics);
    found.answer.time_us = us_since(begun);
  } catch (...) {
    found.error = std::current_exception();
  }
  ended(*group, query, Processor::cpu);
}

std::string SharedEngine::failure() {
  const std::lock_guard lock(gpu_mutex_);
  return failure_;
}

void SharedEngine::answer_on_gpus(std::span<const WaitingQuery> queries) {
  if (const std::string failed = failure(); !failed.empty()) throw CudaError(failed);
  std::vector<std::shared_ptr<GroupState>> groups;
  std::vector<std::string_view> texts;
  for (const WaitingQuery& query : queries) {
    // Most are of the same group as the one before.
    const bool same = !groups.empty() && groups.back()->has(query.number);
    groups.push_back(same ? groups.back() : group_of(query.number));
    texts.push_back(groups.back()->texts[query.number - groups.back()->first_number]);
  }
  std::vector<std::vector<ScoredDocument>> results(queries.size());
  GpuStatistics counted;
  std::exception_ptr error;
  const auto begun = WallClock::now();
  try {
    results = gpus_(texts, counted);
  } catch (const CudaError& lost) {
    const std::lock_guard lock(gpu_mutex_);
    failure_ = lost.what();
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(gpu_mutex_);
    of_gpus_ += counted;
    ++batches_;
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
  for (std::size_t i = 0; i < group.queries.size(); ++i) {
    const WaitingQuery& query = group.queries[i].query;
    const Found& found = group.found[i];
    const bool gpu_is_faster = group.queries[i].alone_us < query.expected_cpu_us;
    const bool on_gpu = found.by == Processor::gpu;
    SharedCounts& counts = on_gpu ? figures_.on_gpu : figures_.on_cpu;
    if (on_gpu == gpu_is_faster)
      ++counts.faster;
    else if (!on_gpu && !failure_.empty())
      ++counts.taken_over;
    else
      ++counts.slower;
    figures_.missed += options_.deadline_us > 0 && found.response_us > options_.deadline_us;
  }
  figures_.batches = batches_;
  for (const std::string& failed : of_gpus_.failed_gpus) notice_(failed);
  statistics += std::exchange(of_gpus_, {});
  if (!failure_.empty() && !std::exchange(told_, true)) notice_("the CPU answers the remaining queries: " + failure_);
}

}  // namespace quern
