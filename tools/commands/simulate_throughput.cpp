#include <fmt/format.h>

#include <limits>

#include "quern/io/byte_source.hpp"
#include "quern/plan/throughput_model.hpp"

#include "cache_options.hpp"
#include "command.hpp"
#include "figures.hpp"

namespace quern::tools {
namespace {

constexpr std::uint64_t max_points_bytes = std::uint64_t{64} << 20;

struct SimulateThroughputArguments {
  CommonOptions common;
  std::string points, memory;
  double limit_ms = 0;
  unsigned steps = 100;
  std::optional<TransferLink> link;
  bool overlap = false;
};

Json figures_json(const InverseFit& fit) {
  return {{"base", fit.base},           {"over_x", fit.over_x},
          {"r_squared", fit.r_squared}, {"worst_residual", fit.worst_residual},
          {"points", fit.points},       {"poor", fit.is_poor()}};
}

Row row_of(const MemorySplit& split, const char* mark = "") {
  const auto size = [](double bytes) { return size_text(static_cast<std::uint64_t>(bytes)); };
  return {{"cache_bytes", split.cache_bytes},
          {"", size(split.cache_bytes), "cache"},
          {"buffer_bytes", split.buffer_bytes},
          {"", size(split.buffer_bytes), "buffer"},
          {"batch_queries", split.batch_queries, "batch", "{:.0f}"},
          {"response_us", split.response_us, "ms/batch", "{:.1f}", 1e-3},
          {"queries_per_second", split.queries_per_second, "queries/s", "{:.0f}"},
          {"", mark, " "}};
}

void warn_if_poor(const CommonOptions& common, const char* name, const InverseFit& fit) {
  if (!fit.is_poor()) return;
  say(common, fmt::format("quern: warning: {} fits poorly: {} points, worst error {:.0f} %, R² = {:.3f}", name,
                          fit.points, 100 * fit.worst_residual, fit.r_squared));
}

void print_curve(const ThroughputModel& model, const std::vector<MemorySplit>& curve, const MemorySplit& best) {
  print(fmt::format("c(n) = {:.4g} + {:.4g} / n us per query; t(S_b) = {:.4g} + {:.4g} / S_b us per byte\n",
                    model.query_us().base, model.query_us().over_x, model.transfer_us_per_byte().base,
                    model.transfer_us_per_byte().over_x));
  constexpr std::size_t shown = 20;
  const std::size_t step = std::max<std::size_t>(1, curve.size() / shown);
  FigureTable table;
  for (std::size_t i = 0; i < curve.size(); i += step) table.add(row_of(curve[i]));
  table.add(row_of(best, "best"));
  print(table.take_text());
}

void run(const SimulateThroughputArguments& arguments) {
  make_resources(arguments.common);
  const ThroughputModel model(parse_measured_points(read_whole(arguments.points, max_points_bytes), arguments.points),
                              arguments.link, arguments.overlap ? StageOverlap::full : StageOverlap::none);
  warn_if_poor(arguments.common, "c(n)", model.query_us());
  if (!arguments.link) warn_if_poor(arguments.common, "t(S_b)", model.transfer_us_per_byte());
  const double limit_us = arguments.limit_ms > 0 ? arguments.limit_ms * 1000 : std::numeric_limits<double>::infinity();
  const std::vector<MemorySplit> curve =
      throughput_curve(model, static_cast<double>(parse_size(arguments.memory)), limit_us, arguments.steps);
  if (curve.empty())
    throw InvalidArgument(
        "no split of the memory holds the lists of a query within the limit; raise --memory or --limit");
  const MemorySplit best = *std::max_element(
      curve.begin(), curve.end(),
      [](const MemorySplit& a, const MemorySplit& b) { return a.queries_per_second < b.queries_per_second; });
  if (!arguments.common.json) return print_curve(model, curve, best);
  Json json = {{"c", figures_json(model.query_us())},
               {"t", figures_json(model.transfer_us_per_byte())},
               {"best", to_json(row_of(best))}};
  json["overlap"] = arguments.overlap;
  if (arguments.link) json["link_gb_per_second"] = arguments.link->gigabytes_per_second;
  for (const MemorySplit& split : curve) json["curve"].push_back(to_json(row_of(split)));
  print(json.dump(1) + "\n");
}

}  // namespace

void add_throughput_simulation(CLI::App& simulate) {
  auto [command, arguments] = add_command<SimulateThroughputArguments>(
      simulate, "throughput", "Find the best split of GPU memory between cached lists and batch buffer", run);
  add_option(command, "POINTS", arguments.points, "FILE",
             "Measured points: lines function,x,y (see formats/tables/measured_points.md)")
      ->required();
  add_option(command, "--memory", arguments.memory, "SIZE", "Total GPU memory for cache and buffer")
      ->check(size_validator())
      ->required();
  add_link_option(command, arguments.link,
                  "Predict for a link of this speed, in 10^9 bytes per second, instead of the measured one; the points "
                  "then need no t");
  command.add_flag("--overlap", arguments.overlap,
                   "Predict for a GPU that works while the next batch is prepared and copied: from the stage that "
                   "takes longest; needs points of c_host and c_gpu");
  add_number_option(command, "--limit", arguments.limit_ms, "MS",
                    "Longest time for a batch, in milliseconds (default: no limit)", 0.0, 1e9);
  add_number_option(command, "--steps", arguments.steps, "N", "Number of cache sizes to try", 1u, 100000u);
  command.add_flag("--json", arguments.common.json, "Print the fits and the curve as JSON");
  add_common_options(command, arguments.common);
  set_notes(command,
            {"The model is that of Wang et al., section 4.2.1: 1 / (c(n) + t(S_b) dq(S_c)) queries per second. With "
             "--overlap, a query takes c_alone(n) + max(c_host(n) + t_host(S_b) dq(S_c), t(S_b) dq(S_c), c_gpu(n)).",
             "`quern bench gpu-cache --points` measures the points."},
            {{"quern simulate throughput points.csv --memory 6G --limit 150"},
             {"quern simulate throughput points.csv --memory 6G --link 375", "The same GPU with a faster link"}});
}

}  // namespace quern::tools
