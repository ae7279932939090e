#include "query_processors.hpp"

#include "schedule_options.hpp"
#include "times_files.hpp"

namespace quern::tools {
namespace {

SharedEngineOptions shared_options(const SharingArguments& sharing, const GpuOptions& gpu, unsigned threads) {
  SharedEngineOptions options;
  options.schedule = sharing.schedule;
  options.schedule_options = sharing.options;
  // The others prepare batches and work with the GPUs.
  const unsigned for_gpus = options.gpu_threads + 1;
  options.schedule_options.cpu_threads = threads > for_gpus ? threads - for_gpus : 1;
  options.schedule_options.gpus = 1;  // all of them answer a batch together
  options.deadline_us = 1000 * sharing.deadline_ms;
  options.max_batch = gpu.batch_queries;
  options.strategy = gpu.strategy->name;
  return options;
}

}  // namespace

void add_sharing_options(CLI::App& command, SharingArguments& arguments) {
  add_name_option(command, "--schedule", arguments.schedule, all_schedule_policies(),
                  with_choices("With --device both, who answers which query:", all_schedule_policies()))
      ->capture_default_str();
  add_deadline_option(command, arguments.deadline_ms);
  command
      .add_option("--costs", arguments.costs,
                  "With --device both, predict how long queries take by the functions that quern bench cost wrote "
                  "(default: built in)")
      ->type_name("FILE");
}

void check_sharing(const SharingArguments& arguments, QueryDevice device) {
  if (device == QueryDevice::both) return;
  if (!arguments.costs.empty()) throw usage_error("--costs needs --device both");
  if (arguments.deadline_ms > 0) throw usage_error("--deadline needs --device both");
}

QueryProcessors::QueryProcessors(const QueryEngine& engine, QueryDevice device, const GpuOptions& options,
                                 const SharingArguments& sharing, const QueryWork& work, Progress& progress,
                                 FailoverNotice notice)
    : work_(work) {
  if (device != QueryDevice::both) {
    one_ = std::make_unique<FailoverEngine>(engine, device, options, progress, std::move(notice));
    return;
  }
  CostModel costs;
  if (!sharing.costs.empty()) costs = CostModel(read_costs(sharing.costs, origin_here(engine.index(), options.gpu)));
  gpus_ = std::make_unique<GpuEngine>(engine, options, progress);
  const auto search = [this](std::span<const std::string_view> texts, GpuStatistics& statistics) {
    return gpus_->search(texts, work_.algorithm, work_.k, &statistics, work_.passing);
  };
  SharedEngineOptions shared = shared_options(sharing, options, work.threads);
  shared.passing = work.passing;
  // To ask takes the lock under which batches are made.
  if (!gpus_->keeps_all() && (sharing.schedule == "share" || !sharing.costs.empty()))
    shared.missing_bytes = [this](std::span<const WeightedList> lists) { return gpus_->missing_bytes(lists); };
  both_ = std::make_unique<SharedEngine>(engine, work.algorithm, work.k, search, std::move(costs), std::move(shared),
                                         std::move(notice));
}

void QueryProcessors::run(std::span<const std::string_view> texts, const BatchSteps& steps, GpuStatistics& statistics,
                          std::uint64_t held_bytes) {
  if (both_) return both_->run(texts, steps, statistics, held_bytes);
  one_->run(texts, work_.algorithm, work_.k, work_.threads, steps, statistics, held_bytes, work_.passing);
}

QueryProcessors::Begun QueryProcessors::begin(std::span<const std::string_view> texts) {
  Begun begun;
  if (both_)
    begun.both_ = both_->begin(texts);
  else
    begun.one_ = one_->begin(texts, work_.algorithm, work_.k, work_.passing);
  return begun;
}

void QueryProcessors::finish(Begun& begun, const BatchSteps& steps, GpuStatistics& statistics,
                             std::uint64_t held_bytes) {
  if (both_) return both_->finish(*begun.both_, steps, statistics, held_bytes);
  one_->finish(*begun.one_, work_.threads, steps, statistics, held_bytes);
}

}  // namespace quern::tools
