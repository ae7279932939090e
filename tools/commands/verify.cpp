#include <fmt/format.h>

#include "quern/formats/collection.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/make_index.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/io/file.hpp"

#include "command.hpp"

namespace quern::tools {
namespace {

struct VerifyArguments {
  CommonOptions common;
  std::vector<std::string> paths;
};

/// Checksums first: they show where the damage is. Contradictions in the contents come after.
void verify(const std::string& path, FileKind kind, const Resources& resources) {
  const std::uint64_t size = File::open_regular(quern_file(path)).size();
  switch (kind) {
    case FileKind::collection: {
      const CollectionReader collection = CollectionReader::open(path);
      collection.verify(resources);
      resources.progress->start("check contents", size, "bytes");
      collection.verify_contents(resources);
      break;
    }
    case FileKind::order: {
      const OrderReader order = OrderReader::open(path);
      order.container().verify(resources);
      order.load();
      break;
    }
    case FileKind::plan: {
      const PlanReader plan = PlanReader::open(path);
      plan.container().verify(resources);
      plan.load();
      break;
    }
    case FileKind::index:
      verify_index_files(IndexReader::open(path), resources);
      break;
    case FileKind::texts: {
      const TextsReader texts = TextsReader::open(path);
      texts.container().verify(resources);
      resources.progress->start("check contents", texts.manifest().text_bytes, "bytes");
      texts.verify_contents(resources);
      break;
    }
    case FileKind::fields:
      verify_fields(FieldsReader::open(path), resources);
      break;
    case FileKind::statistics:
      verify_statistics(StatisticsReader::open(path), resources);
      break;
    case FileKind::scales: {
      const ContainerReader scales = ContainerReader::open(path, FileKind::scales);
      scales.verify(resources);
      read_scales(scales);
      break;
    }
    case FileKind::forward:
      verify_forward(path, IndexReader::open(folder_of(path)), resources);
      break;
    default:
      throw UnsupportedVersion(path + ": unknown kind of Quern file; a newer version of quern may read it");
  }
  resources.progress->finish();
}

void print_sound(const std::string& path, FileKind kind) {
  print(fmt::format("{}: {}, {}, sound\n", path, kind_name(kind),
                    size_text(File::open_regular(quern_file(path)).size())));
}

void run(const VerifyArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  for (const std::string& path : arguments.paths) {
    const FileKind kind = kind_of_file(path);
    verify(path, kind, resources);
    if (arguments.common.quiet) continue;
    print_sound(path, kind);
    if (kind != FileKind::index) continue;
    for (const auto& [member, member_kind] :
         {std::pair(forward_member, FileKind::forward), std::pair(texts_member, FileKind::texts),
          std::pair(fields_member, FileKind::fields), std::pair(statistics_member, FileKind::statistics)})
      if (has_member(path, member)) print_sound(member_path(path, member), member_kind);
  }
}

}  // namespace

void add_verify_command(CLI::App& program) {
  auto [command, arguments] = add_command<VerifyArguments>(program, "verify", "Check every byte of Quern files", run);
  add_input_option(command, "PATH", arguments.paths, "",
                   "Collections, orders, indexes, plans, statistics, or files next to indexes")
      ->required();
  add_work_options(command, arguments.common);
  set_notes(command, {}, {{"quern verify my.quern"}, {"quern verify my.collection my.order my.plan"}});
}

}  // namespace quern::tools
