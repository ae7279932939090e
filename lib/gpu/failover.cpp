#include "quern/gpu/failover.hpp"

#include <algorithm>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/device_info.hpp"

namespace quern {
namespace {

/// Intersections whose results, of any length, are kept at a time.
constexpr std::size_t intersections_per_call = std::size_t{1} << 14;

/// What make() returns, a pointer, if queries are to run on a GPU; else null. With `automatic`, errors become notices.
template <class Make>
auto make_unless_on_cpu(QueryDevice device, const FailoverNotice& notice, Make&& make) -> decltype(make()) {
  if (device == QueryDevice::cpu) return nullptr;
  try {
    return make();
  } catch (const Error& error) {
    if (device == QueryDevice::gpu) throw;
    notice(std::string("queries run on the CPU: ") + error.what());
    return nullptr;
  }
}

std::string continuing_on_cpu(const CudaError& error) {
  return std::string("the CPU answers the remaining queries: ") + error.what();
}

}  // namespace

void require_gpu(unsigned gpu) { gpu::gpu_numbers(gpu, 1); }

FailoverEngine::FailoverEngine(const QueryEngine& engine, QueryDevice device, const GpuOptions& options,
                               Progress& progress, FailoverNotice notice)
    : engine_(engine), device_(device), strategy_(*options.strategy), notice_(std::move(notice)) {
  if (device != QueryDevice::cpu && !list_gpus().empty()) gpu::gpu_numbers(options.gpu, options.gpus);
  gpu_ = make_unless_on_cpu(device, notice_, [&] { return std::make_unique<GpuEngine>(engine, options, progress); });
}

bool FailoverEngine::on_gpus(const DocumentSet* passing) {
  if (!gpu_ || gpu_lost_) return false;
  if (passing == nullptr || strategy_.filters) return true;
  try {
    gpu::check_filters(strategy_);
  } catch (const InvalidArgument& error) {
    if (device_ == QueryDevice::gpu) throw;
    if (!told_.exchange(true)) notice_(std::string("queries run on the CPU: ") + error.what());
  }
  return false;
}

std::unique_ptr<FailoverEngine::Begun> FailoverEngine::begin(std::span<const std::string_view> texts,
                                                             const QueryAlgorithm& algorithm, std::size_t k,
                                                             const DocumentSet* passing) {
  std::unique_ptr<Begun> begun(new Begun(texts, algorithm, k, passing));
  if (!on_gpus(passing)) return begun;
  begun->future_ = std::async(std::launch::async, [this, texts, &algorithm, k, passing] {
    Begun::Answers answers;
    const auto started = WallClock::now();
    answers.results = gpu_->search(texts, algorithm, k, &answers.statistics, passing);
    answers.us = us_since(started);
    return answers;
  });
  return begun;
}

bool FailoverEngine::wait_for_gpus(Begun& begun, GpuStatistics& statistics) {
  if (!begun.future_.valid()) return false;
  try {
    begun.answers_ = begun.future_.get();
  } catch (const CudaError& error) {
    if (device_ == QueryDevice::gpu) throw;
    if (!gpu_lost_.exchange(true)) notice_(continuing_on_cpu(error));
    return false;
  }
  for (const std::string& failed : begun.answers_.statistics.failed_gpus) notice_(failed);
  statistics += begun.answers_.statistics;
  return true;
}

void FailoverEngine::finish(Begun& begun, unsigned threads, const BatchSteps& steps, GpuStatistics& statistics,
                            std::uint64_t held_bytes) {
  if (!wait_for_gpus(begun, statistics))
    return run_batch(engine_, begun.texts_, begun.algorithm_, begun.k_, threads, steps, held_bytes, begun.passing_);
  const double time_us = begun.answers_.us_per_query();
  const auto answer = [&](std::size_t i, QueryAnswer& out) {
    out.documents = std::move(begun.answers_.results[i]);
    out.time_us = time_us;
    if (steps.render) steps.render(i, out);
  };
  answer_in_batches<QueryAnswer>(begun.texts_.size(), threads, held_bytes, answer, answer_bytes, steps.take);
}

std::vector<QueryAnswer> FailoverEngine::answers(Begun& begun, unsigned threads, GpuStatistics& statistics) {
  std::vector<QueryAnswer> answers(begun.texts_.size());
  if (wait_for_gpus(begun, statistics)) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      answers[i].documents = std::move(begun.answers_.results[i]);
      answers[i].time_us = begun.answers_.us_per_query();
    }
    return answers;
  }
  BatchSteps steps;
  steps.render = [&](std::size_t i, QueryAnswer& answer) { answers[i] = std::move(answer); };
  steps.take = [](std::size_t, const QueryAnswer&) {};
  run_batch(engine_, begun.texts_, begun.algorithm_, begun.k_, threads, steps, default_held_bytes, begun.passing_);
  return answers;
}

void FailoverEngine::run(std::span<const std::string_view> texts, const QueryAlgorithm& algorithm, std::size_t k,
                         unsigned threads, const BatchSteps& steps, GpuStatistics& statistics, std::uint64_t held_bytes,
                         const DocumentSet* passing) {
  const std::uint64_t result_bytes =
      std::min<std::uint64_t>(k, engine_.index().num_documents()) * sizeof(ScoredDocument);
  // Of queries that GPUs have answered and of those that they work on.
  const auto at_once = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(held_bytes / 2 / (result_bytes + sizeof(QueryAnswer)), 1, scored_queries_per_call));
  const auto begin_from = [&](std::size_t from) -> std::unique_ptr<Begun> {
    if (from >= texts.size()) return nullptr;
    const std::size_t count = gpu_ && !gpu_lost_ ? std::min(at_once, texts.size() - from) : texts.size() - from;
    return begin(texts.subspan(from, count), algorithm, k, passing);
  };
  auto next = begin_from(0);
  for (std::size_t from = 0; next;) {
    const auto begun = std::move(next);
    const std::size_t end = from + begun->texts_.size();
    next = begin_from(end);
    BatchSteps of_all;
    if (steps.render) of_all.render = [&](std::size_t i, QueryAnswer& answer) { steps.render(from + i, answer); };
    of_all.take = [&](std::size_t i, const QueryAnswer& answer) { steps.take(from + i, answer); };
    finish(*begun, threads, of_all, statistics, held_bytes);
    from = end;
  }
}

FailoverIntersection::FailoverIntersection(const Intersection& cpu, QueryDevice device, std::string_view gpu_method,
                                           const GpuIntersectionOptions& options, Progress& progress,
                                           FailoverNotice notice)
    : cpu_(cpu), device_(device), notice_(std::move(notice)) {
  gpu_ = make_unless_on_cpu(device, notice_, [&] {
    const GpuIntersectionMethod& method =
        gpu_method.empty() ? all_gpu_intersection_methods().front() : gpu_intersection_method_named(gpu_method);
    GpuIntersectionOptions on_gpu = options;
    on_gpu.text = cpu.options().text;
    return std::make_unique<GpuIntersection>(cpu.index(), method, on_gpu, progress);
  });
}

void FailoverIntersection::run(std::span<const std::string_view> texts, unsigned threads,
                               const IntersectionSteps& steps, std::uint64_t held_bytes) {
  const std::size_t done = gpu_ ? run_on_gpu(texts, steps) : 0;
  const auto take = [&](std::size_t i, const IntersectionAnswer& answer) {
    steps.take(done + i, answer.documents);
    steps.count_cpu(answer.statistics);
  };
  intersect_batch(cpu_, texts.subspan(done), threads, take, held_bytes);
}

std::string_view FailoverIntersection::method_name() const { return gpu_ ? gpu_->method().name : cpu_.method().name; }

std::size_t FailoverIntersection::run_on_gpu(std::span<const std::string_view> texts, const IntersectionSteps& steps) {
  std::size_t done = 0;
  while (done < texts.size()) {
    const std::size_t first = done, count = std::min(intersections_per_call, texts.size() - first);
    // With bucketing, answers come in another order.
    std::vector<std::vector<docid_t>> kept(gpu_->bucketing() ? count : 0);
    GpuIntersectionStatistics counted;
    WallClock::duration taking{};
    const auto begun = WallClock::now();
    const auto take = [&](std::size_t i, std::span<const docid_t> documents) {
      if (gpu_->bucketing()) return kept[i].assign(documents.begin(), documents.end());
      const auto before = WallClock::now();
      steps.take(first + i, documents);
      ++done;
      taking += WallClock::now() - before;
    };
    try {
      gpu_->run(texts.subspan(first, count), take, &counted);
    } catch (const CudaError& error) {
      if (device_ == QueryDevice::gpu) throw;
      notice_(continuing_on_cpu(error));
      return done;
    }
    for (const std::string& failed : counted.failed_gpus) notice_(failed);
    steps.count_gpu(counted, us_since(begun + taking));
    for (const std::vector<docid_t>& documents : kept) steps.take(done++, documents);
  }
  return done;
}

}  // namespace quern
