#include "quern/lab/gpu/gpu_cache_subject.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/worker/fronts.hpp"
#include "quern/gpu/worker/worker_pool.hpp"
#include "quern/io/checksum.hpp"
#include "quern/lab/gpu/gpu_bench.hpp"
#include "quern/lab/measuring.hpp"

namespace quern {
namespace {

using Results = std::vector<std::vector<ScoredDocument>>;

template <class Number>
void add_number(const Number& number, StreamHash& hash) {
  hash.add(as_bytes(std::string_view(reinterpret_cast<const char*>(&number), sizeof(number))));
}

/// Hashes a query's documents and score bits.
void add_results(const std::vector<ScoredDocument>& documents, StreamHash& hash) {
  add_number(documents.size(), hash);
  for (const ScoredDocument& document : documents) {
    add_number(document.docid, hash);
    add_number(document.score, hash);
  }
}

std::uint64_t front_bytes(const CachePlan* plan) {
  std::uint64_t bytes = 0;
  if (plan != nullptr)
    for (const CachedList& list : plan->lists) bytes += list.bytes;
  return bytes;
}

gpu::MemoryDivision division_of(const QueryEngine& engine, const gpu::GpuMemoryOptions& memory) {
  return gpu::divide_memory(memory.limit(engine.index()).value_or(std::numeric_limits<std::uint64_t>::max()),
                            gpu::sizes_of(engine.index(), &engine), memory, engine.index().name());
}

const GpuCacheOptions& checked(const GpuCacheOptions& options) {
  check_range("repeats", options.repeats, 1, 1000);
  gpu::check_answers(*options.gpu.strategy, std::span(&options.algorithm, 1));
  gpu::gpu_numbers(options.gpu.gpu, 1);
  return options;
}

}  // namespace

GpuCacheSubject::GpuCacheSubject(const QueryEngine& engine, std::span<const std::string_view> train,
                                 std::span<const QueryView> queries, const GpuCacheOptions& options,
                                 const Resources& resources)
    : engine_(engine),
      options_(checked(options)),
      resources_(resources),
      plans_(engine, train, options.kind, resources) {
  keep_queries_with_results(queries);
  lists_ = find_log_lists(engine, queries_, options.algorithm->matching);
}

void GpuCacheSubject::keep_queries_with_results(std::span<const QueryView> queries) {
  const Results results = engine_for({}).search(queries, *options_.algorithm, 1);
  for (std::size_t i = 0; i < queries.size(); ++i)
    if (!results[i].empty()) queries_.push_back(queries[i]);
  if (queries_.empty())
    throw InvalidArgument("none of the {} queries has results; use queries for this index", queries.size());
}

gpu::GpuMemoryOptions GpuCacheSubject::memory_of(const CacheSetting& setting) {
  gpu::GpuMemoryOptions memory;
  if (setting.memory == whole_memory) return memory;
  const auto known = options_.memories.find(setting.memory);
  if (known == options_.memories.end()) throw InvalidArgument("unknown memory " + setting.memory);
  memory = options_.gpu.memory;
  memory.list_share = known->second;
  if (setting.list_buffer > 0) {
    const auto lists = static_cast<double>(gpu::sizes_of(engine_.index(), &engine_).lists);
    memory.list_buffer = setting.list_buffer;
    *memory.list_share -= 2 * static_cast<double>(setting.list_buffer) / lists;
    if (*memory.list_share <= 0)
      throw GpuOutOfMemory("two list buffers of {} leave nothing of {}", size_text(setting.list_buffer),
                           setting.memory);
  }
  const gpu::Strategy* const strategy = options_.gpu.strategy;
  memory.needs = gpu::needs_of({&strategy, 1}, engine_.index(), options_.gpu.batch_queries);
  memory.plan = plans_.plan(setting, memory);
  return memory;
}

GpuEngine& GpuCacheSubject::engine_for(const CacheSetting& setting) {
  const gpu::GpuMemoryOptions memory = memory_of(setting);
  if (gpu_ && memory_ == setting.memory && list_buffer_ == setting.list_buffer && plan_ == memory.plan) return *gpu_;
  transfers_.reset();
  gpu_.reset();
  GpuOptions gpu = options_.gpu;
  gpu.memory = memory;
  gpu_ = std::make_unique<GpuEngine>(engine_, gpu, *resources_.progress);
  memory_ = setting.memory;
  list_buffer_ = setting.list_buffer;
  plan_ = memory.plan;
  return *gpu_;
}

EngineRun GpuCacheSubject::run(const CacheSetting& setting) {
  GpuEngine& gpu = engine_for(setting);
  gpu.set_batch_queries(setting.batch);
  const bool singly = setting.batch == 1;
  EngineRun run;
  run.queries = singly ? std::min(queries_.size(), max_single_queries) : queries_.size();
  std::vector<double> seconds;
  for (unsigned pass = 0; pass <= options_.repeats; ++pass) {
    StreamHash hash;
    double all_seconds = 0;
    run.statistics = {};
    for (std::size_t first = 0; first < run.queries; first += singly ? 1 : run.queries) {
      const auto asked = std::span<const QueryView>(queries_).subspan(first, singly ? 1 : run.queries);
      GpuStatistics counted;
      Results results;
      try {
        all_seconds += wall_seconds([&] { results = gpu.search(asked, *options_.algorithm, setting.k, &counted); });
      } catch (const InvalidArgument& error) {
        if (setting.list_buffer == 0) throw;
        throw GpuOutOfMemory("{}", error.what());  // a query's lists are larger than the buffer
      }
      run.statistics += counted;
      for (const auto& documents : results) add_results(documents, hash);
    }
    if (pass > 0) seconds.push_back(all_seconds);  // skips the warm-up
    if (pass > 0 && hash.value() != run.results_hash) throw Error("the GPU gives different results each time");
    run.results_hash = hash.value();
  }
  run.seconds = median(std::move(seconds));
  return run;
}

GpuCacheSubject::Lists GpuCacheSubject::sent(std::size_t batch) const {
  std::vector<std::uint64_t> postings(lists_.queries.size());
  for (std::size_t i = 0; i < postings.size(); ++i)
    for (const WeightedList& each : lists_.queries[i]) postings[i] += each.list.df;
  std::vector<std::size_t> order(batch == 1 ? std::min(postings.size(), max_single_queries) : postings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (batch > 1)
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return postings[a] > postings[b]; });
  Lists all;
  for (const std::size_t place : order)
    if (!lists_.queries[place].empty()) all.push_back(&lists_.queries[place]);
  return all;
}

CopyDemand GpuCacheSubject::demand(const CacheSetting& setting) {
  const gpu::GpuMemoryOptions memory = memory_of(setting);
  const gpu::MemoryDivision division = division_of(engine_, memory);
  const Lists queries = sent(setting.batch);
  const auto count = static_cast<double>(std::max<std::size_t>(queries.size(), 1));
  const bool intersects = options_.algorithm->matching != Matching::any;
  // QueryQueue makes batches of equal size.
  const double batches = std::ceil(count / static_cast<double>(setting.batch));
  CopyDemand demand;
  demand.batch_queries = count / batches;
  ListCacheCase replay;
  replay.batch = static_cast<std::uint64_t>(std::ceil(demand.batch_queries));
  replay.retention = options_.gpu.memory.retention;
  replay.with_impacts = engine_.quantizer() != nullptr;
  replay.plan = memory.plan;
  replay.ends_on_fronts = intersects && gpu::ends_on_fronts(memory, engine_);
  replay.passes = 2;  // measured runs have warm caches
  replay.flights = setting.batch == 1 ? 1 : gpu::batches_in_flight;
  constexpr std::size_t few_queries = 16;  // their lists should fit together
  replay.by_windows = options_.gpu.strategy->window_limits != nullptr && division.resident_rows &&
                      !(intersects && setting.batch <= few_queries);
  if (division.whole_index) {
    demand.whole_index = true;
    demand.list_bytes = demand.cache_bytes = gpu::sizes_of(engine_.index(), &engine_).lists;
    demand.list_hits = 1;
    return demand;
  }
  static_cast<gpu::ListArenas&>(replay) = gpu::arenas_of(division);
  const ListCacheFigures figures = replay_lists(engine_.index(), queries, replay);
  demand.list_bytes = division.lists;
  demand.cache_bytes = gpu::plan_room(engine_, memory).bytes;
  demand.plan_bytes = front_bytes(memory.plan);
  demand.needed_bytes = static_cast<double>(figures.counts.bytes) / count;
  demand.copied_bytes = static_cast<double>(figures.counts.copied_bytes) / count;
  if (figures.batches > 0) {
    demand.batch_queries = count / static_cast<double>(figures.batches);
    demand.windowed = static_cast<double>(figures.windowed) / static_cast<double>(figures.batches);
    demand.windows = static_cast<double>(figures.windows) / count;
    demand.window_lists = static_cast<double>(figures.window_lists) / count;
    if (figures.windowed > 0)
      demand.windows_per_batch = static_cast<double>(figures.windows) / static_cast<double>(figures.windowed);
  }
  if (figures.counts.lists > 0)
    demand.list_hits = static_cast<double>(figures.counts.resident_lists) / static_cast<double>(figures.counts.lists);
  return demand;
}

TransferTime GpuCacheSubject::copy_lists(std::uint64_t bytes, bool by_windows) {
  if (!transfers_) {
    gpu_.reset();
    transfers_ = std::make_unique<TransferBench>(engine_, options_.gpu.gpu, options_.gpu.memory.transfers,
                                                 lists_.queries, *resources_.progress);
  }
  return by_windows ? transfers_->measure_windows(bytes, options_.repeats)
                    : transfers_->measure(bytes, options_.repeats);
}

TransferTime GpuCacheSubject::copy_pinned(std::uint64_t bytes) {
  return measure_pinned_copy(options_.gpu.gpu, bytes, options_.repeats);
}

BenchPlans::BenchPlans(const QueryEngine& engine, std::span<const std::string_view> train, QueryKind kind,
                       const Resources& resources)
    : engine_(engine),
      train_(train),
      kind_(kind),
      resources_(resources),
      blocks_(engine.index(), CacheBlocks::default_size(engine.index()), resources, engine.quantizer() != nullptr) {}

const LogDemand& BenchPlans::demand(std::size_t k) {
  const auto known = demands_.find(k);
  if (known != demands_.end()) return known->second;
  LogQueries log(engine_.index().manifest().analyzer, resources_, kind_);
  for (const std::string_view text : train_) log.add(text);
  return demands_.emplace(k, measure_demand(engine_, blocks_, log, {.k = k}, resources_)).first->second;
}

const CachePlan* BenchPlans::plan(const CacheSetting& setting, const gpu::GpuMemoryOptions& memory) {
  if (setting.policy == no_policy) return nullptr;
  const auto key = std::tuple(setting.memory, setting.policy, setting.max_admission, setting.k, setting.list_buffer);
  const auto known = plans_.find(key);
  if (known != plans_.end()) return &known->second;
  const gpu::PlanRoom room = gpu::plan_room(engine_, memory);
  if (room.whole_index) return nullptr;
  PlanOptions options;
  options.policy = setting.policy;
  options.budget_bytes = room.bytes;
  options.budget_rows = room.rows;
  options.max_admission = setting.max_admission;
  options.demand.k = setting.k;
  check_plan_memory(blocks_, options.budget_bytes, resources_);
  return &plans_.emplace(key, make_plan(engine_, blocks_, demand(setting.k), options)).first->second;
}

}  // namespace quern
