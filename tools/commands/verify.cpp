#include <fmt/format.h>

#include <memory>

#include "quern/core/size_text.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/index/verify_index.hpp"
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
      collection.container().verify(resources);
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
    case FileKind::index: {
      const IndexReader index = IndexReader::open(path);
      index.container().verify(resources);
      resources.progress->start("check contents", index.manifest().postings, "postings");
      verify_index(index, resources);
      break;
    }
    default:
      throw UnsupportedVersion(path + ": unknown kind of Quern file; a newer version of quern may read it");
  }
  resources.progress->finish();
}

void run(const VerifyArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  for (const std::string& path : arguments.paths) {
    const FileKind kind = kind_of_file(path);
    verify(path, kind, resources);
    if (!arguments.common.quiet)
      print(fmt::format("{}: {}, {}, sound\n", path, kind_name(kind),
                        size_text(File::open_regular(quern_file(path)).size())));
  }
}

}  // namespace

void add_verify_command(CLI::App& program) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = program.add_subcommand("verify", "Check every byte of Quern files");
  command->add_option("PATH", arguments->paths, "Collections, orders, indexes or plans")->type_name("")->required();
  add_common_options(*command, arguments->common);
  set_notes(*command, {}, {{"quern verify my.quern"}, {"quern verify my.collection my.order my.plan"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
