#include <fmt/format.h>

#include <memory>

#include "quern/io/atomic_output.hpp"
#include "quern/shards/cut_index.hpp"

#include "command.hpp"
#include "shard_options.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct CutArguments {
  CommonOptions common;
  std::string index, shard, output;
};

void run(const CutArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  index.container().verify(resources);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  std::optional<StatisticsReader> statistics;
  if (!index.pagerank().empty()) {
    File& file = out.add_member(statistics_member);
    write_statistics_of_index(index, resources, file);
    statistics.emplace(
        ContainerReader(std::make_shared<const File>(file.duplicate()), FileKind::statistics, statistics_version));
  }
  const BuildReport report =
      cut_index(index, *shard_choice(arguments.shard), statistics ? &*statistics : nullptr, resources, out.file());
  out.commit();
  say_report(arguments.common, report, arguments.output);
  if (arguments.common.json) print(to_json(report).dump(1) + "\n");
}

}  // namespace

void add_cut_command(CLI::App& program) {
  auto arguments = std::make_shared<CutArguments>();
  CLI::App* command = program.add_subcommand("cut", "Cut a shard out of an index");
  add_index_argument(*command, arguments->index);
  add_shard_option(*command, arguments->shard, "Write the I-th of N shards, which scores as the whole index does")
      ->required();
  add_output_options(*command, arguments->common, arguments->output, "index");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"Shards have the lists and documents of an index; texts, kept fields and forward files stay with it."},
            {{"quern cut my.quern --shard 1/2 -o 1.quern", "So that each of two GPUs holds half of the documents"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
