#include "sharded_query.hpp"

#include <deque>
#include <memory>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/sharded_engine.hpp"
#include "quern/search/index_pages.hpp"

#include "answer_stream.hpp"
#include "arriving_queries.hpp"
#include "docno_check.hpp"
#include "figures.hpp"
#include "filter_option.hpp"
#include "query_budget.hpp"
#include "result_text.hpp"
#include "run_statistics.hpp"
#include "sharded_second_stage.hpp"

namespace quern::tools {
namespace {

class ShardedRun {
 public:
  explicit ShardedRun(const ShardedQuery& query)
      : query_(query),
        resources_(make_resources(query.common, query.output)),
        shards_(query.shards),
        result_text_(shards_, query.format, query.tag, query.fields, query.on_terminal) {
    if (query.second_stage.wanted()) second_stage_.emplace(query.second_stage.ranker, shards_);
    // A part is for what shards find together.
    const std::uint64_t memory = resources_.memory_bytes;
    for (const IndexReader& index : shards_) add(index, memory / 16 * 15 / shards_.size());
    of_gpus_.resize(shards_.size());
  }

  void run() {
    TextOutput out(query_.output, query_.common.force);
    StatisticsFile statistics_file(query_.stats);
    std::optional<QueryGroups> queries;
    if (!query_.batch_wait_ms) queries.emplace(query_.queries, query_.common, resources_);
    std::vector<std::future<void>> docnos;
    if (query_.device != QueryDevice::cpu)
      for (const IndexReader& index : shards_) docnos.push_back(check_docnos(index));
    ShardedEngine engine(shards_, engines_, query_.device, gpu_options(), *resources_.progress,
                         [&](const std::string& text) { say(query_.common, "quern: " + text); });
    RunStatistics statistics(resources_.tmp_folder);
    for (std::future<void>& checked : docnos) checked.get();
    for (const std::unique_ptr<IndexPages>& pages : pages_) pages->trim();
    resources_.progress->start("query", queries ? queries->count() : 0, "queries");
    const auto begun = WallClock::now();
    std::string text;
    query_.format.begin(text);
    out.write(text);
    if (queries) {
      queries->for_each([&](const std::vector<Query>& group) { answer(group, engine, out, statistics); });
    } else {
      answer_arriving(engine, out, statistics);
    }
    text.clear();
    query_.format.end(text);
    out.write(text);
    const double seconds = seconds_since(begun);
    out.finish();
    resources_.progress->finish();
    if (!statistics_file) return;
    for (const GpuStatistics& of_gpu : of_gpus_) statistics.add(of_gpu);
    Json json = statistics.json({query_.algorithm, query_.k, second_stage_ ? query_.first_k() : 0, resources_.threads},
                                *engines_.front(), nullptr, seconds);
    for (const GpuStatistics& of_gpu : of_gpus_)
      json["shards"].push_back(of_gpu.queries > 0 ? gpu_json(of_gpu) : Json::object());
    statistics_file.write(json);
  }

 private:
  void add(const IndexReader& index, std::uint64_t memory) {
    Resources resources = resources_;
    resources.memory_bytes = memory;
    const std::optional<DocumentSet>& passing = passing_.emplace_back(
        passing_documents(query_.filter, {query_.queries.file, query_.output}, index, resources, query_.common));
    if (passing) filters_.push_back(&*passing);
    GpuMemoryPlan& gpu_memory = *gpu_memories_.emplace_back(std::make_unique<GpuMemoryPlan>(query_.gpu_memory, index));
    const QueryBudget budget =
        query_budget({query_.first_k(), query_.scoring.scorer, query_.device, second_stage_.has_value()}, index,
                     resources, gpu_memory);
    const std::size_t shard = pages_.size();
    // What is measured is what all have in memory.
    std::uint64_t of_all_shards = 0;
    for (const IndexReader& one : shards_) of_all_shards += one.container().file().size();
    pages_.push_back(std::make_unique<IndexPages>(index, budget.for_queries / 2 * shards_.size(),
                                                  second_stage_ ? &second_stage_->forward(shard) : nullptr,
                                                  of_all_shards - index.container().file().size()));
    if (second_stage_) second_stage_->limit_memory(shard, budget.for_second_stage, resources.threads, *pages_.back());
    engines_.push_back(std::make_unique<QueryEngine>(index, scoring_options(query_.scoring, index, query_.queries),
                                                     resources.threads,
                                                     query_memory(budget.for_queries, resources.threads)));
  }

  GpuOptions gpu_options() const {
    GpuOptions options = query_.gpu;
    options.strategy = &gpu::strategy_named(query_.strategy);
    options.memory = gpu_memories_.front()->options();
    return options;
  }

  /// What is done with the answers to these queries.
  BatchSteps steps_of(const std::vector<Query>& group, TextOutput& out, RunStatistics& statistics) {
    BatchSteps steps;
    steps.render = [this, &group](std::size_t i, QueryAnswer& answer) {
      if (second_stage_) answer.time_us += second_stage_->rerank(group[i].text, answer.documents, query_.k);
      result_text_.write(group[i], answer.documents, [&](const std::string& text) { answer.text += text; });
      for (const std::unique_ptr<IndexPages>& pages : pages_) pages->note_query();
    };
    steps.take = [this, &out, &statistics](std::size_t, const QueryAnswer& answer) {
      out.write(answer.text);
      statistics.add(answer);
      resources_.progress->add(1);
    };
    return steps;
  }

  void answer(const std::vector<Query>& group, ShardedEngine& engine, TextOutput& out, RunStatistics& statistics) {
    engine.run(texts_of(group), algorithm_named(query_.algorithm), query_.first_k(), resources_.threads,
               steps_of(group, out, statistics), of_gpus_, resources_.memory_bytes / 16, filters_);
  }

  void answer_arriving(ShardedEngine& engine, TextOutput& out, RunStatistics& statistics) {
    constexpr std::size_t most_begun = 3;
    using Begun = std::unique_ptr<ShardedEngine::Begun>;
    ArrivingQueries arriving(query_.queries, query_.common, query_.gpu.batch_queries, *query_.batch_wait_ms,
                             resources_.memory_bytes / 8);
    answer_stream<Begun>(
        arriving.stream(), most_begun,
        [&](std::span<const std::string_view> texts) {
          return engine.begin(texts, algorithm_named(query_.algorithm), query_.first_k(), filters_);
        },
        [&](StreamBatch<Begun>& batch) {
          arriving.look_at(batch.queries);
          engine.finish(*batch.begun, resources_.threads, steps_of(batch.queries, out, statistics), of_gpus_,
                        resources_.memory_bytes / 16);
          out.show();
        });
  }

  const ShardedQuery& query_;
  Resources resources_;
  const IndexShards& shards_;
  std::optional<ShardedSecondStage> second_stage_;
  ResultText result_text_;
  std::vector<std::unique_ptr<GpuMemoryPlan>> gpu_memories_;
  std::vector<std::unique_ptr<QueryEngine>> engines_;
  std::vector<std::unique_ptr<IndexPages>> pages_;
  std::deque<std::optional<DocumentSet>> passing_;  ///< of each shard
  ShardFilters filters_;
  std::vector<GpuStatistics> of_gpus_;  ///< of each shard
};

}  // namespace

void run_sharded_query(const ShardedQuery& query) { ShardedRun(query).run(); }

}  // namespace quern::tools
