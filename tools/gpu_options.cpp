#include "gpu_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "quern/plan/log_demand.hpp"

#include "figures.hpp"

namespace quern::tools {

void add_thread_options(CLI::App& command, gpu::StrategyOptions& options) {
  const auto add = [&](const char* name, unsigned& threads, const std::string& help) {
    add_option(command, name, threads, "N", help + ", a multiple of 32 from 32 to 512")
        ->check(checked_by([](const std::string& text) -> std::string {
          unsigned number = 0;
          if (read_number(text, number) && gpu::are_block_threads(number)) return {};
          return "'" + text + "' is not a multiple of 32 from 32 to 512";
        }))
        ->capture_default_str();
  };
  add("--partitions", options.partitions, "For partition: ranges of documents");
  add("--round", options.round,
      "For wang: postings of a query's shortest list between two checks for early termination, one per thread");
}

void add_list_options(CLI::App& command, gpu::GpuMemoryOptions& memory) {
  add_value_option(command, "--cache", memory.retention, gpu::list_retentions,
                   with_choices("Which lists to keep in GPU memory besides the plan's:", gpu::list_retentions));
  add_value_option(command, "--transfers", memory.transfers, gpu::list_transfers,
                   with_choices("How lists that a GPU does not keep are transferred to it:", gpu::list_transfers));
}

void add_ranked_list_options(CLI::App& command, gpu::GpuMemoryOptions& memory) {
  add_list_options(command, memory);
  add_value_option(command, "--tails", memory.tails, gpu::list_tails,
                   with_choices("For `and` queries: what to do with the rest of a list when GPU memory holds only the "
                                "part that the plan keeps:",
                                gpu::list_tails));
  add_size_option(command, "--list-buffer", memory.list_buffer, std::string(list_buffer_help), 1);
}

void add_gpu_memory_options(CLI::App& command, GpuMemoryArguments& arguments) {
  add_option(command, "--gpu-memory", arguments.limit, "SIZE|P%",
             std::string(gpu_memory_help) + " (default: the free memory, less a margin)")
      ->check(budget_validator());
  add_input_option(command, "--plan", arguments.plans, "FILE", std::string(plan_help))->allow_extra_args(false);
}

gpu::GpuMemoryOptions gpu_memory_limit(const std::string& text) {
  gpu::GpuMemoryOptions options;
  if (const auto percent = percentage(text))
    options.share = *percent / 100;
  else if (!text.empty())
    options.bytes = parse_size(text);
  return options;
}

gpu::GpuMemoryOptions memory_options(const GpuMemoryArguments& arguments) {
  gpu::GpuMemoryOptions options = arguments.lists;
  const gpu::GpuMemoryOptions limit = gpu_memory_limit(arguments.limit);
  options.bytes = limit.bytes;
  options.share = limit.share;
  return options;
}

void add_device_option(CLI::App& command, QueryDevice& device, std::span<const NamedValue<QueryDevice>> devices) {
  const auto take = [&device](const CLI::results_t& names) {
    device = find_named(all_query_devices, names.back(), "device").value;
    return true;
  };
  add_option(command, "--device", take, "NAME", with_choices("Where queries run:", devices))
      ->check(name_validator(names_of(devices)))
      ->default_str(std::string(name_of_value(all_query_devices, device)));
}

std::string_view device_name(bool on_gpu) {
  return name_of_value(all_query_devices, on_gpu ? QueryDevice::gpu : QueryDevice::cpu);
}

void add_strategy_options(CLI::App& command, std::string& strategy, gpu::StrategyOptions& options) {
  add_name_option(command, "--strategy", strategy, gpu::all_strategies(),
                  "How a GPU finds the results; every strategy gives the same results:" + gpu::strategies_help());
  add_thread_options(command, options);
}

void check_strategy(const std::string& strategy, const std::vector<std::string>& algorithms) {
  std::vector<const QueryAlgorithm*> named;
  for (const std::string& algorithm : algorithms) named.push_back(&algorithm_named(algorithm));
  try {
    gpu::check_answers(gpu::strategy_named(strategy), named);
  } catch (const InvalidArgument& wrong) {
    throw CLI::ValidationError(wrong.what());
  }
}

void check_filters(const std::string& strategy, QueryDevice device) {
  if (device != QueryDevice::gpu && device != QueryDevice::both) return;
  try {
    gpu::check_filters(gpu::strategy_named(strategy));
  } catch (const InvalidArgument& wrong) {
    throw CLI::ValidationError(wrong.what());
  }
}

void add_gpu_option(CLI::App& command, unsigned& gpu) {
  add_number_option(command, "--gpu", gpu, "N", "Index of the (first) GPU, as listed by quern --version, from 0", 0u,
                    gpu::max_gpus);
}

CLI::Validator gpus_validator() {
  const auto check = [](std::string& number) {
    if (number == "all") {
      number = "0";
      return std::string();
    }
    unsigned gpus = 0;
    const bool is_number = read_number(number, gpus) && gpus >= 1 && gpus < 1000;
    return is_number ? std::string() : "'" + number + "' is neither a number of GPUs (at least 1) nor all";
  };
  return checked_by(check);
}

void add_gpus_option(CLI::App& command, unsigned& gpus) {
  add_option(command, "--gpus", gpus, "N", "Number of GPUs to use, starting with --gpu, or all")
      ->transform(gpus_validator())
      ->capture_default_str();
}

void add_batch_option(CLI::App& command, std::size_t& queries) {
  add_number_option(command, "--batch", queries, "N", "Largest batch of queries that a GPU answers together", 1,
                    gpu::max_batch_queries);
}

void add_sharing_options(CLI::App& command, SharingArguments& arguments) {
  add_name_option(command, "--schedule", arguments.schedule, all_schedule_policies(),
                  with_choices("With --device both, how queries are assigned:", all_schedule_policies()));
  add_deadline_option(command, arguments.deadline_ms);
  add_input_option(
      command, "--costs", arguments.costs, "FILE",
      "With --device both, predict query times with the functions written by quern bench cost (default: built in)");
}

void check_sharing(const SharingArguments& arguments, QueryDevice device) {
  if (device == QueryDevice::both) return;
  if (!arguments.costs.empty()) throw usage_error("--costs needs --device both");
  if (arguments.deadline_ms > 0) throw usage_error("--deadline needs --device both");
}

BackendOptions backend_options(QueryDevice device, const GpuOptions& gpu, const SharingArguments& sharing,
                               unsigned threads, const IndexReader& index, FailoverNotice notice) {
  BackendOptions options;
  options.device = device;
  options.gpu = gpu;
  options.notice = std::move(notice);
  if (device != QueryDevice::both) return options;
  HybridOptions& hybrid = options.hybrid;
  hybrid.schedule = sharing.schedule;
  hybrid.schedule_options = sharing.options;
  // The others prepare batches and work with the GPUs.
  const unsigned for_gpus = hybrid.gpu_threads + 1;
  hybrid.schedule_options.cpu_threads = threads > for_gpus ? threads - for_gpus : 1;
  hybrid.schedule_options.gpus = 1;  // all of them answer a batch together
  hybrid.deadline_us = 1000 * sharing.deadline_ms;
  // Asking takes the lock under which batches are made.
  hybrid.counts_missing = sharing.schedule == "share" || !sharing.costs.empty();
  if (!sharing.costs.empty()) options.costs = CostModel(read_costs(sharing.costs, origin_here(index, gpu.gpu)));
  return options;
}

void add_deadline_option(CLI::App& command, double& deadline_ms) {
  add_number_option(command, "--deadline", deadline_ms, "MS",
                    "Deadline per query from arrival to answer, in milliseconds; 0: none", 0.0, 1e9);
}

void add_gpu_batches_option(CLI::App& command, ScheduleOptions& options) {
  add_number_option(command, "--gpu-batches", options.gpu_batches, "N",
                    "Batches that a GPU is given at a time; with 3, one is prepared while another runs and results of "
                    "a third are collected",
                    1u, 16u);
}

void add_policy_options(CLI::App& command, ScheduleOptions& options) {
  add_number_option(command, "--max-blocks", options.max_blocks, "N",
                    "For lbd: maximum blocks of a query that goes to a GPU");
  add_number_option(command, "--gpu-share", options.gpu_share, "X", "For share: the GPUs' share of the predicted costs",
                    0.0, 1.0);
  add_number_option(command, "--seed", options.seed, "N", "Seed of sd, and of random arrivals");
}

std::optional<double> percentage(const std::string& text) {
  if (text.size() < 2 || text.back() != '%') return {};
  double value = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0) || !std::isfinite(value)) return {};
  return value;
}

namespace {

/// The names of the interface's values, with the same descriptions.
constexpr NamedValue<bool> counts_probed[] = {{"visited", false, visit_kinds[0].description},
                                              {"probed", true, visit_kinds[1].description}};
constexpr NamedValue<api::Idf> api_idfs[] = {{"lucene", api::Idf::lucene}, {"robertson", api::Idf::robertson}};
constexpr NamedValue<api::Scores> api_scores[] = {{"exact", api::Scores::exact, scores_names[0].description},
                                                  {"quantized", api::Scores::quantized, scores_names[1].description}};
constexpr NamedValue<api::Scorer> api_scorers[] = {
    {"bm25", api::Scorer::bm25, scorer_names[0].description},
    {"bm25+pagerank", api::Scorer::bm25_pagerank, scorer_names[1].description}};

}  // namespace

void add_cache_options(CLI::App& command, api::PlanOptions& options) {
  add_number_option(command, "-k", options.k, "N", "Results per query", 1, end_docid);
  add_number_option(command, "--round", options.round, "N",
                    "Postings of a query's shortest list between two checks for early termination, a multiple of the "
                    "index's block size (default: 256, or the index's block size if larger)",
                    1, std::uint64_t{1} << 32);
  add_number_option(command, "--block", options.caching_block, "N",
                    "Postings per caching block, a multiple of the index's block size (default: 256, or the index's "
                    "block size if larger)",
                    1, std::uint64_t{1} << 32);
  add_value_option(command, "--count", options.count_probed, counts_probed,
                   with_choices("Which blocks of a list count as used:", counts_probed));
  add_value_option(command, "--idf", options.idf, api_idfs, "Formula for the inverse document frequency");
  add_value_option(command, "--scores", options.scores, api_scores, with_choices("Precision of scores:", api_scores));
  add_value_option(
      command, "--scorer", options.scorer, api_scorers,
      with_choices("Scoring function (default: bm25+pagerank if the index has global scores and scores are "
                   "exact, else bm25):",
                   api_scorers));
  add_alpha_option(command, options.alpha);
}

void add_link_option(CLI::App& command, std::optional<TransferLink>& link, const std::string& help) {
  command
      .add_option_function<double>(
          "--link", [&link](double speed) { link = TransferLink{speed}; }, help)
      ->type_name("GB/s")
      ->check(range_validator(1e-3, 1e6));
}

CLI::Validator budget_validator() {
  return checked_by([](std::string& text) -> std::string {
    if (percentage(text)) return {};
    try {
      parse_size(text);
      return {};
    } catch (const InvalidArgument&) {
      return fmt::format("'{}' is neither a size such as 64M nor a percentage such as 10%", text);
    }
  });
}

CLI::Validator max_admission_validator() {
  return checked_by([](std::string& text) -> std::string {
    double share = 0;
    if (read_number(text, share) && share > 0 && share <= 1) return {};
    return fmt::format("'{}' is not a number greater than 0 and at most 1", text);
  });
}

std::uint64_t parse_budget(const std::string& text, std::uint64_t whole) {
  const auto percent = percentage(text);
  return percent ? api::share_of(whole, *percent / 100) : parse_size(text);
}

}  // namespace quern::tools
