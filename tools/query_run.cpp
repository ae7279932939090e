#include "query_run.hpp"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "quern/core/error.hpp"
#include "quern/search/batch_collector.hpp"

#include "figures.hpp"
#include "gpu_options.hpp"

namespace quern::tools {
namespace {

/// Whether the thread that answers a query also turns all results into text.
bool is_short(const QueryAnswer& answer) { return answer.documents.size() <= ResultText::max_results; }

}  // namespace

ParsedQueries QueryRun::read(const std::vector<Query>& queries) const {
  return parts_.reader.read(texts_of(queries), parts_.resources.threads);
}

void QueryRun::answer(const std::vector<Query>& queries) {
  const ParsedQueries read_queries = read(queries);
  SearchRequest request = parts_.request;
  request.queries = read_queries.views();
  run(parts_.backend, request, consumer(queries));
}

struct QueryRun::Batch {
  std::vector<Query> queries;
  ParsedQueries parsed;
  std::unique_ptr<PendingSearch> search = nullptr;
};

std::unique_ptr<QueryRun::Batch> QueryRun::begin(std::vector<Query> queries) {
  ParsedQueries parsed = read(queries);
  auto batch = std::make_unique<Batch>(Batch{std::move(queries), std::move(parsed)});
  SearchRequest request = parts_.request;
  request.queries = batch->parsed.views();
  request.others_arrive = true;
  batch->search = parts_.backend.begin(request);
  return batch;
}

void QueryRun::answer(QueryStream& stream, std::size_t max_begun,
                      const std::function<void(const std::vector<Query>& queries)>& note) {
  using BegunBatches = BatchCollector<std::unique_ptr<Batch>>;
  // It holds twice as many as it hands over at a time.
  BegunBatches begun(std::max<std::size_t>(1, max_begun / 2), BegunBatches::Clock::duration(0));
  std::exception_ptr error;
  std::jthread reader([&] {
    try {
      for (std::vector<Query> queries = stream.next(); !queries.empty(); queries = stream.next())
        if (!begun.push(begin(std::move(queries)))) break;
    } catch (...) {
      error = std::current_exception();
    }
    begun.finish();
  });
  try {
    for (auto some = begun.take(); !some.empty(); some = begun.take())
      for (const std::unique_ptr<Batch>& batch : some) {
        note(batch->queries);
        parts_.backend.finish(*batch->search, consumer(batch->queries));
        parts_.out.show();
      }
  } catch (...) {
    stream.stop();
    begun.close();
    throw;
  }
  reader.join();
  if (error) std::rethrow_exception(error);
}

AnswerConsumer QueryRun::consumer(const std::vector<Query>& queries) {
  AnswerConsumer consumer;
  consumer.threads = parts_.resources.threads;
  consumer.held_bytes = held_bytes(parts_.resources);
  consumer.render = [&](std::size_t i, QueryAnswer& answer) {
    if (parts_.second_stage != nullptr)
      answer.time_us += parts_.second_stage->rerank(queries[i].text, answer.documents, parts_.k);
    if (is_short(answer))
      parts_.result_text.write(queries[i], answer.documents, [&](std::string text) { answer.text = std::move(text); });
    parts_.pages.note_query();
  };
  consumer.take = [&](std::size_t i, const QueryAnswer& answer) {
    if (is_short(answer)) {
      parts_.out.write(answer.text);
    } else {
      write_long(queries[i], answer.documents);
    }
    statistics_.add(answer);
    parts_.resources.progress->add(1);
  };
  return consumer;
}

void QueryRun::write_long(const Query& query, std::span<const ScoredDocument> documents) {
  // The text of many results takes more memory than the results, so it is made and written step by step.
  parts_.result_text.write(query, documents, [&](const std::string& text) {
    parts_.out.write(text);
    parts_.pages.note_query();
  });
}

namespace {

Json shared_json(const HybridFigures& figures) {
  const auto counts = [](const HybridCounts& counted) {
    return Json{{"queries", counted.queries()},
                {"faster", counted.faster},
                {"together", counted.together},
                {"slower", counted.slower},
                {"taken_over", counted.taken_over}};
  };
  return {{"on_cpu", counts(figures.on_cpu)},
          {"on_gpu", counts(figures.on_gpu)},
          {"batches", figures.batches},
          {"missed_deadlines", figures.missed}};
}

}  // namespace

void RunStatistics::add(const QueryBackend& backend) {
  const std::vector<GpuStatistics> gpus = backend.gpu_statistics();
  for (const GpuStatistics& gpu : gpus) gpu_ += gpu;
  shards_.resize(backend.cpu().engines().size());
  std::copy(gpus.begin(), gpus.end(), shards_.begin());
  if (backend.hybrid() != nullptr) hybrid_ = *backend.hybrid();
}

double RunStatistics::rate(double seconds) const { return static_cast<double>(queries()) / std::max(seconds, 1e-9); }

Json RunStatistics::json(const RunSettings& settings, const QueryEngine& engine, const gpu::GpuReranker* reranker,
                         double seconds) const {
  Json json = {{"queries", queries()},
               {"algorithm", settings.algorithm},
               {"k", settings.k},
               {"rerank", settings.rerank},
               {"scores", name_of_value(scores_names, engine.options().scores)},
               {"scorer", name_of_value(scorer_names, engine.options().scorer)},
               {"threads", settings.threads}};
  json.update(times_json(times_us_.summary()));
  json.update({{"queries_per_second", rate(seconds)},
               {"postings", counts_.postings},
               {"postings_scored", counts_.postings_scored},
               {"blocks", counts_.blocks},
               {"blocks_decoded", counts_.blocks_decoded},
               {"blocks_skipped", counts_.blocks - std::min(counts_.blocks, counts_.blocks_decoded)},
               {"early_termination", engine.ends_early()}});
  json["device"] = hybrid_ ? name_of_value(all_query_devices, QueryDevice::both) : device_name(gpu_.queries > 0);
  if (hybrid_) json["shared"] = shared_json(*hybrid_);
  if (gpu_.queries > 0) json["gpu"] = gpu_json(gpu_);
  if (engine.ends_early()) json.update({{"stopped_early", counts_.stopped_early}, {"depths", depths_json(counts_)}});
  if (shards_.size() > 1)
    for (const GpuStatistics& gpu : shards_) json["shards"].push_back(gpu.queries > 0 ? gpu_json(gpu) : Json::object());
  if (reranker != nullptr) json["rerank_on_gpu"] = api::figures_of(reranker->counts());
  return json;
}

std::vector<std::string> RunStatistics::lines(const QueryEngine& engine, unsigned threads, double seconds) const {
  const LatencySummary times = times_us_.summary();
  std::vector<std::string> lines{fmt::format(
      "{}, {:.0f} per second on {}; {:.1f} us per query on average, {:.1f} at the median, {:.1f} at the 99th "
      "percentile; {} of {} postings scored, {} of {} blocks decoded",
      count_text(queries(), "query", "queries"), rate(seconds), count_text(threads, "thread"), times.mean_us,
      times.p50_us, times.p99_us, counts_.postings_scored, counts_.postings, counts_.blocks_decoded, counts_.blocks)};
  if (hybrid_)
    lines.push_back(
        fmt::format("{} on the CPU and {} on GPUs; {} and {} of these would have been faster on the other had it been "
                    "idle; {} were predicted to be answered sooner by GPUs alone; {} missed the deadline",
                    count_text(hybrid_->on_cpu.queries(), "query", "queries"), hybrid_->on_gpu.queries(),
                    hybrid_->on_cpu.slower + hybrid_->on_cpu.taken_over, hybrid_->on_gpu.slower,
                    hybrid_->on_gpu.together, hybrid_->missed));
  if (engine.ends_early())
    lines.push_back(fmt::format("{} ended early after reading {:.1f} % of their shortest lists",
                                count_text(counts_.stopped_early, "query", "queries"),
                                100 * counts_.depths.front().mean_share()));
  return lines;
}

}  // namespace quern::tools
