#include "quern/gpu/gpu_engine.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "quern/gpu/query_batch.hpp"
#include "quern/gpu/tuning.hpp"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;
double us_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

/// Too many documents come into question for a query only until its threshold is near the k-th score.
constexpr unsigned most_runs = 4;

gpu::Pruning pruning_of(const QueryAlgorithm& algorithm, const QueryEngine& engine) {
  if (!engine.scoring_context().bounds_hold || algorithm.name == "or") return gpu::Pruning::none;
  return algorithm.name == "wand" ? gpu::Pruning::lists : gpu::Pruning::blocks;
}

}  // namespace

/// A query on its way.
struct GpuEngine::Prepared {
  std::size_t number = 0;
  std::vector<WeightedList> lists;
  std::vector<ScoredDocument> documents;
  std::uint64_t postings = 0;
  std::uint32_t least_units = 0;  ///< known from an earlier run
  bool all_found = false, answered = false, on_cpu = false;
};

/// A batch that a runner has.
struct GpuEngine::Flight {
  gpu::BatchRunner* runner = nullptr;
  std::vector<Prepared*> queries;
};

GpuEngine::GpuEngine(const QueryEngine& engine, const GpuOptions& options, Progress& progress)
    : engine_(engine), options_(options), index_(engine, options.gpu, progress) {
  runners_.emplace_back(index_);
  runners_.emplace_back(index_);
}

std::vector<std::vector<ScoredDocument>> GpuEngine::search(std::span<const std::string_view> texts,
                                                           const QueryAlgorithm& algorithm, std::size_t k,
                                                           GpuStatistics* statistics) {
  GpuStatistics counted;
  counted.queries = texts.size();
  const auto begun = Clock::now();
  std::vector<Prepared> queries(texts.size());
  tbb::enumerable_thread_specific<Analyzer> analyzers([&] { return engine_.make_analyzer(); });
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, texts.size(), 64), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      Prepared& query = queries[i];
      query.number = i;
      query.lists = engine_.lists_of(analyzers.local().terms(texts[i]), query.all_found);
      if (engine_.quantizer()) engine_.check_sums(query.lists);
      for (const WeightedList& list : query.lists) query.postings += list.list.df;
      query.answered = query.lists.empty() || (algorithm.matching != Matching::any && !query.all_found);
      query.on_cpu = !query.lists.empty() && (query.lists.size() > gpu::most_terms || k > gpu::most_results);
    }
  });
  counted.prepare_us += us_since(begun);

  if (algorithm.matching == Matching::all_else_any) {
    answer(queries, {true, gpu::Pruning::none, k}, counted);
    for (Prepared& query : queries)
      if (!query.on_cpu && query.documents.size() < k) query.answered = query.lists.empty();
    answer(queries, {false, pruning_of(algorithm, engine_), k}, counted);
  } else {
    const bool intersect = algorithm.matching == Matching::all;
    answer(queries, {intersect, intersect ? gpu::Pruning::none : pruning_of(algorithm, engine_), k}, counted);
  }

  Analyzer analyzer = engine_.make_analyzer();
  std::vector<std::vector<ScoredDocument>> results(texts.size());
  for (Prepared& query : queries) {
    if (query.on_cpu && !query.lists.empty()) {
      ++counted.on_cpu;
      query.documents = engine_.search(texts[query.number], algorithm, k, analyzer);
    }
    results[query.number] = std::move(query.documents);
  }
  if (statistics) *statistics = counted;
  return results;
}

void GpuEngine::answer(std::span<Prepared> all, const gpu::BatchWork& work, GpuStatistics& statistics) {
  std::vector<Prepared*> queries;
  for (Prepared& query : all) {
    query.least_units = 0;
    if (!query.answered && !query.on_cpu) queries.push_back(&query);
  }
  for (unsigned run = 0; run < most_runs && !queries.empty(); ++run) {
    // The dearest first, so that the last thread blocks have little to do.
    std::stable_sort(queries.begin(), queries.end(),
                     [](const Prepared* a, const Prepared* b) { return a->postings > b->postings; });
    std::vector<Prepared*> again;
    std::vector<Flight> flights(runners_.size());
    std::size_t next = 0;
    for (std::span<Prepared* const> left = queries; !left.empty(); next = (next + 1) % flights.size()) {
      Flight& flight = flights[next];
      if (flight.runner) land(flight, again, statistics);
      flight.runner = &runners_[next];
      const auto begun = Clock::now();
      left = left.subspan(launch(flight, left, work));
      statistics.prepare_us += us_since(begun);
      ++statistics.batches;
    }
    for (std::size_t i = 0; i < flights.size(); ++i, next = (next + 1) % flights.size())
      if (flights[next].runner) land(flights[next], again, statistics);
    if (run == 0) statistics.run_again += again.size();
    queries = std::move(again);
  }
  for (Prepared* query : queries) query->on_cpu = true;
}

std::size_t GpuEngine::launch(Flight& flight, std::span<Prepared* const> queries, const gpu::BatchWork& work) {
  const std::size_t ranges = engine_.index().num_documents() / gpu::range_documents + 1;
  const std::uint64_t most_bytes = index_.free_bytes() / (runners_.size() + 1);
  // Batches of like size: while one runs the next is made.
  const std::size_t batches = (queries.size() + options_.batch_queries - 1) / options_.batch_queries;
  const std::size_t share = (queries.size() + batches - 1) / batches;
  gpu::QueryBatch batch(engine_);
  flight.queries.clear();
  for (Prepared* query : queries) {
    batch.add(query->lists, work.k, work.intersect, query->least_units);
    flight.queries.push_back(query);
    if (flight.queries.size() == share || batch.device_bytes(ranges, gpu::candidate_room_of(work.k)) > most_bytes)
      break;
  }
  // As much work at a time as leaves each of the GPU's thread blocks, or warps, several turns.
  const std::size_t turns = work.intersect ? gpu::many_warps : gpu::many_blocks;
  batch.finish(std::max<std::size_t>(1, flight.queries.size() * ranges / turns));
  flight.runner->start(batch, work, last_runner_ == flight.runner ? nullptr : last_runner_);
  last_runner_ = flight.runner;
  return flight.queries.size();
}

void GpuEngine::land(Flight& flight, std::vector<Prepared*>& again, GpuStatistics& statistics) {
  std::vector<gpu::BatchAnswer> answers = flight.runner->wait();
  statistics.device += flight.runner->times();
  flight.runner = nullptr;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Prepared& query = *flight.queries[i];
    query.answered = answers[i].complete;
    query.documents = std::move(answers[i].documents);
    query.least_units = answers[i].least_units;
    if (!query.answered) again.push_back(&query);
  }
}

}  // namespace quern
