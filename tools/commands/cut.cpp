#include <fmt/format.h>

#include "quern/index/shards/cut_index.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
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
    statistics.emplace(ContainerReader(std::make_shared<const File>(file.duplicate()), FileKind::statistics));
  }
  const BuildReport report =
      cut_index(index, *shard_choice(arguments.shard), statistics ? &*statistics : nullptr, resources, out.file());
  const IndexReader shard = IndexReader::open(out.file());
  const auto first = static_cast<docid_t>(shard.manifest().docid_base);
  const IndexPart part{index, {first, first + shard.num_documents()}};
  const SidecarReports beside = copy_beside({&part, 1}, resources, out);
  out.commit();
  show_reports(arguments.common, report, beside, arguments.output);
}

}  // namespace

void add_cut_command(CLI::App& program) {
  auto [command, arguments] = add_command<CutArguments>(program, "cut", "Cut a shard out of an index", run);
  add_index_argument(command, arguments.index);
  add_shard_option(command, arguments.shard, "Write the I-th of N shards, with the same scores as the whole index")
      ->required();
  add_output_options(command, arguments.common, arguments.output, "index");
  add_common_options(command, arguments.common);
  set_notes(command, {"Texts, kept fields and the forward file next to the index are also cut."},
            {{"quern cut my.quern --shard 1/2 -o 1.quern", "So that each of two GPUs holds half of the documents"}});
}

}  // namespace quern::tools
