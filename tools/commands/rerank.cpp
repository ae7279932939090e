#include <fmt/format.h>

#include "command.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"
#include "second_stage.hpp"

namespace quern::tools {
namespace {

struct RerankArguments {
  CommonOptions common;
  RunArguments run;
  api::RankerOptions ranker;
  QueryDevice device = QueryDevice::cpu;
  api::Placement placement;
  std::vector<std::string> indexes;
  std::string output, stats, tag = "quern";
  std::size_t k = 1000;
};

void run(const RerankArguments& arguments) {
  require_run(arguments.run);
  const Resources resources = make_resources(arguments.common, arguments.output);
  const api::Index index = api::Index::open_shards(arguments.indexes);
  TextOutput out(arguments.output, arguments.common.force);
  StatisticsFile statistics(arguments.stats);
  api::Placement placement = arguments.placement;
  placement.device = static_cast<api::Device>(arguments.device);
  placement.notice = remarks(arguments.common);
  const api::SecondStageReport report = api::rerank_run(
      index, first_stage(arguments.run, arguments.common, resources), arguments.ranker, arguments.k, arguments.tag,
      placement, [&](std::string_view text) { out.write(text); }, make_work(arguments.common, resources));
  out.finish();
  say(arguments.common, fmt::format("quern: reranked {} of {}, {:.0f} documents per second on {}",
                                    count_text(report.documents, "document"), count_text(report.topics, "topic"),
                                    static_cast<double>(report.documents) / std::max(report.seconds, 1e-9),
                                    count_text(resources.threads, "thread")));
  if (statistics) statistics.write(report.figures);
}

}  // namespace

void add_rerank_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<RerankArguments>(program, "rerank", "Reorder the results of a run with a learned model", run);
  add_shards_argument(command, arguments.indexes)->required();
  add_run_options(command, arguments.run);
  add_ranker_options(command, arguments.ranker)->required();
  add_number_option(command, "-k", arguments.k, "N", "Results per topic in the new run", 1, end_docid);
  add_device_option(command, arguments.device, devices_one_at_a_time);
  add_gpu_option(command, arguments.placement.gpu);
  add_size_option(command, "--gpu-memory", arguments.placement.gpu_memory_bytes,
                  "GPU memory limit (default: the free memory, less a margin)");
  add_settings_option(command, "--gpu-options", "GPU settings", [&arguments = arguments](CLI::App& settings) {
    add_gpu_rerank_options(settings, arguments.ranker);
  });
  add_option(command, "--tag", arguments.tag, "NAME", "Name of the new run")->capture_default_str();
  add_answer_options(command, arguments.common, arguments.output, arguments.stats);
  add_resource_options(command, arguments.common);
  add_common_options(command, arguments.common);
  set_notes(command, {},
            {{"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt -o second.run"},
             {"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt --features 'body.*,title.*'",
              "With a model that was trained with these features"},
             {"quern rerank my.quern --run first.run -q topics.txt --ranker model.txt --device auto -o second.run",
              "On a GPU, if there is one: the same scores"}});
}

}  // namespace quern::tools
