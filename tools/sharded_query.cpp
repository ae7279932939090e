#include "sharded_query.hpp"

#include <deque>
#include <memory>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/sharded_engine.hpp"
#include "quern/query/index_pages.hpp"

#include "figures.hpp"
#include "filter_option.hpp"
#include "query_budget.hpp"
#include "result_text.hpp"
#include "run_statistics.hpp"

namespace quern::tools {
namespace {

class ShardedRun {
 public:
  explicit ShardedRun(const ShardedQuery& query)
      : query_(query),
        resources_(make_resources(query.common, query.output)),
        shards_(IndexShards::open(query.indexes)),
        result_text_(shards_, query.format, query.tag, nullptr, query.on_terminal) {
    // A part is for what shards find together.
    const std::uint64_t memory = resources_.memory_bytes;
    for (const IndexReader& index : shards_) add(index, memory / 16 * 15 / shards_.size());
    of_gpus_.resize(shards_.size());
  }

  void run() {
    TextOutput out(query_.output, query_.common.force);
    StatisticsFile statistics_file(query_.stats);
    const QueryGroups queries(query_.queries, query_.common, resources_);
    ShardedEngine engine(shards_, engines_, query_.device, gpu_options(), *resources_.progress,
                         [&](const std::string& text) { say(query_.common, "quern: " + text); });
    RunStatistics statistics(resources_.tmp_folder);
    resources_.progress->start("query", queries.count(), "queries");
    const auto begun = WallClock::now();
    std::string text;
    query_.format.begin(text);
    queries.for_each([&](const std::vector<Query>& group) {
      out.write(text);
      text.clear();
      answer(group, engine, out, statistics);
    });
    query_.format.end(text);
    out.write(text);
    const double seconds = seconds_since(begun);
    out.finish();
    resources_.progress->finish();
    if (!statistics_file) return;
    for (const GpuStatistics& of_gpu : of_gpus_) statistics.add(of_gpu);
    Json json =
        statistics.json({query_.algorithm, query_.k, 0, resources_.threads}, *engines_.front(), nullptr, seconds);
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
        query_budget({query_.k, query_.scoring.scorer, query_.device, false}, index, resources, gpu_memory);
    pages_.push_back(std::make_unique<IndexPages>(index, budget.for_queries / 2));
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

  void answer(const std::vector<Query>& group, ShardedEngine& engine, TextOutput& out, RunStatistics& statistics) {
    BatchSteps steps;
    steps.render = [&](std::size_t i, QueryAnswer& answer) {
      result_text_.write(group[i], answer.documents, [&](const std::string& text) { answer.text += text; });
      for (const std::unique_ptr<IndexPages>& pages : pages_) pages->note_query();
    };
    steps.take = [&](std::size_t, const QueryAnswer& answer) {
      out.write(answer.text);
      statistics.add(answer);
      resources_.progress->add(1);
    };
    engine.run(texts_of(group), algorithm_named(query_.algorithm), query_.k, resources_.threads, steps, of_gpus_,
               resources_.memory_bytes / 16, filters_);
  }

  const ShardedQuery& query_;
  Resources resources_;
  IndexShards shards_;
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
