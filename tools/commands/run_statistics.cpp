#include "run_statistics.hpp"

#include "quern/api/internal/second_stage.hpp"

#include "gpu_options.hpp"

namespace quern::tools {
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

void RunStatistics::report_unproven(const CommonOptions& options) const {
  if (unproven_ > 0)
    say(options, "quern: the results of {} of {} are not proven exact; --output-format json says of which", unproven_,
        count_text(times_us_.count(), "query", "queries"));
}

void RunStatistics::write(StatisticsFile& file, const RunSettings& settings, const QueryEngine& engine,
                          const gpu::GpuReranker* reranker, double seconds) const {
  const LatencySummary times = times_us_.summary();
  const double rate = static_cast<double>(times_us_.count()) / std::max(seconds, 1e-9);
  Json json = {{"queries", times_us_.count()},
               {"algorithm", settings.algorithm},
               {"k", settings.k},
               {"expand", settings.expand},
               {"rerank", settings.rerank},
               {"scores", name_of_value(scores_names, engine.options().scores)},
               {"scorer", name_of_value(scorer_names, engine.options().scorer)},
               {"threads", settings.threads}};
  json.update(times_json(times));
  json.update({{"queries_per_second", rate},
               {"postings", counts_.postings},
               {"postings_scored", counts_.postings_scored},
               {"blocks", counts_.blocks},
               {"blocks_decoded", counts_.blocks_decoded},
               {"blocks_skipped", counts_.blocks - counts_.blocks_decoded},
               {"unproven", unproven_},
               {"early_termination", engine.ends_early()}});
  json["device"] = hybrid_ ? name_of_value(all_query_devices, QueryDevice::both) : device_name(gpu_.queries > 0);
  if (hybrid_) json["shared"] = shared_json(*hybrid_);
  if (gpu_.queries > 0) json["gpu"] = gpu_json(gpu_);
  if (engine.ends_early()) json.update({{"stopped_early", counts_.stopped_early}, {"depths", depths_json(counts_)}});
  if (shards_.size() > 1)
    for (const GpuStatistics& gpu : shards_) json["shards"].push_back(gpu.queries > 0 ? gpu_json(gpu) : Json::object());
  if (reranker != nullptr) json["rerank_on_gpu"] = api::figures_of(reranker->counts());
  file.write(json.dump(1));
  say_summary(settings, times, rate, engine.ends_early());
}

void RunStatistics::say_summary(const RunSettings& settings, const LatencySummary& times, double rate,
                                bool ends_early) const {
  const CommonOptions& options = settings.common;
  say(options,
      "quern: {}, {:.0f} per second on {}; {:.1f} us per query on average, {:.1f} at the median, {:.1f} at the 99th "
      "percentile; {} of {} postings scored, {} of {} blocks decoded",
      count_text(times_us_.count(), "query", "queries"), rate, count_text(settings.threads, "thread"), times.mean_us,
      times.p50_us, times.p99_us, counts_.postings_scored, counts_.postings, counts_.blocks_decoded, counts_.blocks);
  if (hybrid_)
    say(options,
        "quern: {} on the CPU and {} on GPUs; {} and {} of these would have been faster on the other had it been "
        "idle; {} were predicted to be answered sooner by GPUs alone; {} missed the deadline",
        count_text(hybrid_->on_cpu.queries(), "query", "queries"), hybrid_->on_gpu.queries(),
        hybrid_->on_cpu.slower + hybrid_->on_cpu.taken_over, hybrid_->on_gpu.slower, hybrid_->on_gpu.together,
        hybrid_->missed);
  if (ends_early)
    say(options, "quern: {} ended early after reading {:.1f} % of their shortest lists",
        count_text(counts_.stopped_early, "query", "queries"), 100 * counts_.depths.front().mean_share());
}

}  // namespace quern::tools
