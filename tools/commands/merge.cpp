#include <fmt/format.h>

#include "quern/index/shards/merge_indexes.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"
#include "stage_options.hpp"

namespace quern::tools {
namespace {

struct MergeArguments {
  CommonOptions common;
  std::vector<std::string> shards;
  std::string output;
};

void run(const MergeArguments& arguments) {
  const Resources resources = make_resources(arguments.common, arguments.output);
  const IndexShards shards = IndexShards::open(arguments.shards);
  for (const IndexReader& shard : shards) shard.container().verify(resources);
  AtomicOutput out = AtomicOutput::folder(arguments.output, index_members(), arguments.common.force);
  const BuildReport report = merge_indexes(shards, resources, out.file());
  const SidecarReports beside = copy_beside(parts_of(shards), resources, out);
  out.commit();
  show_reports(arguments.common, report, beside, arguments.output);
}

}  // namespace

void add_merge_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<MergeArguments>(program, "merge", "Merge the shards of an index into one", run);
  add_option(command, "INDEX", arguments.shards, "", "All shards, as written by quern build --shard, in any order")
      ->required();
  add_output_options(command, arguments.common, arguments.output, "index");
  add_common_options(command, arguments.common);
  set_notes(command,
            {"The result is byte for byte what quern build writes with the same order and without --shard. Texts, kept "
             "fields and forward files next to the shards are also merged."},
            {{"quern merge shard-*.quern -o my.quern"}});
}

}  // namespace quern::tools
