#include "quern/api/internal/processors.hpp"

#include <fmt/format.h>

#include <iterator>

#include "quern/api/internal/boundary.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/search/top_k.hpp"

namespace quern::api {

void refuse_wrong_query(std::size_t count, const std::function<void(std::size_t query)>& answer,
                        const std::function<std::string(std::size_t query)>& name) {
  for (std::size_t query = 0; query < count; ++query) {
    try {
      answer(query);
    } catch (const InvalidArgument& wrong) {
      throw InvalidArgument("query {}: {}", name(query), wrong.what());
    }
  }
}

std::vector<std::string> plans_by_shard(const std::vector<std::string>& plans, std::span<const IndexReader> shards) {
  std::vector<std::string> by_shard(shards.size());
  if (plans.empty()) return by_shard;
  for (const std::string& path : plans) {
    const PlanReader plan = PlanReader::open(path);
    const auto shard = std::ranges::find_if(shards, [&](const IndexReader& index) { return plan.belongs_to(index); });
    if (shard == shards.end()) plan.check_belongs_to(shards.front());
    std::string& known = by_shard[static_cast<std::size_t>(shard - shards.begin())];
    if (!known.empty())
      throw InvalidArgument("{}: is a plan for {}, as is {}; leave one out", path, shard->name(), known);
    known = path;
  }
  for (std::size_t i = 0; i < shards.size(); ++i)
    if (by_shard[i].empty())
      throw InvalidArgument("{}: no plan is for this shard; create one with: quern plan {} -q LOG -o PLAN",
                            shards[i].name(), shards[i].name());
  return by_shard;
}

ShardGpuMemory::ShardGpuMemory(const gpu::GpuMemoryOptions& options, const IndexReader& index, const std::string& plan)
    : options_(options), list_bytes_(coded_list_bytes(index, true)) {
  if (plan.empty()) return;
  plan_ = std::make_unique<CachePlan>(PlanReader::open(plan).load_for(index));
  options_.plan = plan_.get();
}

void ShardGpuMemory::take_pinned(QueryDevice device, std::uint64_t& bytes) {
  if (device == QueryDevice::cpu || list_gpus().empty()) return;
  std::uint64_t pinned = bytes / 4;
  if (options_.transfers == gpu::ListTransfers::direct)
    pinned = std::clamp(pinned + list_bytes_ / 3 * 4, bytes / 4, bytes / 4 * 3);
  options_.pinned_bytes = pinned;
  bytes -= pinned;
}

SearchProcessors::SearchProcessors(const IndexShards& shards, const gpu::GpuMemoryOptions& options,
                                   const std::vector<std::string>& plans, unsigned threads)
    : shards_(shards), threads_(threads) {
  const std::vector<std::string> by_shard = plans_by_shard(plans, shards);
  for (std::size_t i = 0; i < shards.size(); ++i) gpu_memories_.emplace_back(options, shards[i], by_shard[i]);
}

std::uint64_t SearchProcessors::bytes_for_queries(const QueryNeeds& needs, std::size_t shard, std::uint64_t memory) {
  const IndexReader& index = shards_[shard];
  const std::uint64_t for_second_stage = second_stage_bytes_ / shards_.size();
  const std::uint64_t documents = index.num_documents();
  const std::uint64_t tables = QueryEngine::table_bytes(index, needs.scorer);
  const std::uint64_t k = std::min<std::uint64_t>(needs.k, documents);
  const std::uint64_t one_query = bytes_for_query(TopK::bytes(k, documents));
  // One query that runs, and the results that wait in each thread.
  const std::uint64_t results = one_query + k * sizeof(ScoredDocument) * threads_;
  const std::uint64_t needed = tables + results;
  if (needed > memory - for_second_stage)
    throw InvalidArgument(
        "{}: queries need {} of memory, {} for tables of its {} documents and {} for the top {} of a query on {}; "
        "{} allows {}{}: raise it, or lower {} or {}",
        index.name(), size_text(needed), size_text(tables), documents, size_text(results), k,
        count_text(threads_, "thread"), option_name<"memory">, size_text(memory),
        for_second_stage > 0 ? fmt::format(", of which {} is for the second stage", size_text(for_second_stage)) : "",
        for_second_stage > 0 ? option_name<"rerank"> : "-k", option_name<"threads">);
  std::uint64_t left = memory - for_second_stage - needed;
  gpu_memories_[shard].take_pinned(needs.device, left);
  return left + one_query;
}

void SearchProcessors::divide_memory(const QueryNeeds& needs, SecondStage* second_stage, Resources& resources,
                                     std::span<const ForwardReader> forwards) {
  // Some is for what several shards find together.
  const std::uint64_t memory = shards_.size() == 1 ? resources.memory_bytes : resources.memory_bytes / 16 * 15;
  if (second_stage != nullptr) second_stage_bytes_ = memory / SecondStage::memory_share;
  resources.memory_bytes = 0;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    query_bytes_.push_back(bytes_for_queries(needs, i, memory / shards_.size()));
    resources.memory_bytes += query_bytes_.back();
  }
  pages_ = std::make_unique<IndexPages>(shards_, forwards, resources.memory_bytes / 2);
  if (second_stage != nullptr) second_stage->limit_memory(second_stage_bytes_, threads_, *pages_);
}

std::optional<std::uint64_t> SearchProcessors::gpu_memory_bytes() const {
  std::optional<std::uint64_t> all;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const gpu::GpuMemoryOptions& options = gpu_memories_[i].options();
    const std::optional<std::uint64_t> own = options.limit(shards_[i]);
    all = options.share ? all.value_or(0) + *own : own;
  }
  return all;
}

void SearchProcessors::open_engines(const std::function<ScoringOptions(const IndexReader&)>& scoring) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    QueryMemory memory = query_bytes_.empty() ? QueryMemory() : query_memory(query_bytes_[i], threads_);
    engines_.push_back(std::make_unique<QueryEngine>(shards_[i], scoring(shards_[i]), threads_, std::move(memory)));
    engine_pointers_.push_back(engines_.back().get());
  }
}

void SearchProcessors::open_backend(BackendOptions options, const SecondStage* second_stage, Progress& progress) {
  for (const ShardGpuMemory& memory : gpu_memories_) {
    options.shard_memory.push_back(memory.options());
    if (second_stage != nullptr) second_stage->reserve_gpu_memory(options.gpu.gpu, options.shard_memory.back());
  }
  backend_ = std::make_unique<QueryBackend>(engine_pointers_, std::move(options), progress);
}

namespace {

/// The CPU's method; the first one if the CPU takes the place of a GPU with a method of another name.
const IntersectionMethod& cpu_method(const IntersectSettings& settings) {
  const bool is_its_own = settings.method.empty() || has_named(all_intersection_methods(), settings.method);
  if (settings.device == QueryDevice::cpu && !is_its_own)
    throw WrongUsage("{} {} needs {} gpu", option_name<"method">, settings.method, option_name<"device">);
  return settings.method.empty() || !is_its_own ? all_intersection_methods().front()
                                                : intersection_method_named(settings.method);
}

}  // namespace

IntersectProcessors::IntersectProcessors(const IndexReader& index, const IntersectSettings& settings,
                                         QueryMemory memory, Progress& progress)
    : cpu_(index, cpu_method(settings), settings.options, std::move(memory)),
      processors_(cpu_, settings.device, settings.method, settings.gpu, progress, settings.notice) {}

void IntersectProcessors::run(std::span<const QueryView> queries, const DocumentSet* passing, unsigned threads,
                              const IntersectionSteps& steps, std::uint64_t held_bytes) {
  if (passing == nullptr) return processors_.run(queries, threads, steps, held_bytes);
  if (passing->num_documents() != cpu_.index().num_documents())
    throw InvalidArgument(cpu_.index().name() + ": the filter is for another index");
  IntersectionSteps filtered = steps;
  std::vector<docid_t> kept;
  filtered.take = [&](std::size_t query, std::span<const docid_t> documents) {
    kept.clear();
    std::ranges::copy_if(documents, std::back_inserter(kept), [&](docid_t docid) { return passing->contains(docid); });
    steps.take(query, kept);
  };
  processors_.run(queries, threads, filtered, held_bytes);
}

ScoringOptions scoring_options(const Scoring& scoring, const IndexReader& index) {
  ScoringOptions options = scoring_of_index(index, {scoring.k1, scoring.b, scoring.alpha});
  options.idf = scoring.idf == Idf::lucene ? quern::Idf::lucene : quern::Idf::robertson;
  options.scores = scoring.scores == Scores::exact ? quern::Scores::exact : quern::Scores::quantized;
  options.scorer = scoring.scorer == Scorer::bm25 ? quern::Scorer::bm25 : quern::Scorer::bm25_pagerank;
  options.early_termination = scoring.early_termination;
  options.query_scale = scoring.query_scale;
  return options;
}

QueryTerms terms_of(const Query& vector) {
  QueryTerms terms;
  terms.reserve(vector.terms().size());
  for (const WeightedTerm& term : vector.terms()) terms.push_back({std::string(term.term), term.weight});
  return terms;
}

}  // namespace quern::api
