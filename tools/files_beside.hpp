#pragma once
#include <optional>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/forward/build_forward.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"

/// What commands that build an index write beside it into its folder, if asked to.
namespace quern::tools {

struct BesideReports {
  std::optional<ForwardReport> forward;
  std::optional<TextsReport> texts;
};

/// Whether there is such a file.
bool has_file(const std::string& path);

/// --forward.
void add_forward_option(CLI::App& command, bool& forward);

/// Which files are wanted.
struct BesideChoice {
  bool forward = false, texts = false;

  /// Throws InvalidArgument if the memory budget does not hold what they need.
  void check_memory(const CollectionReader& collection, const Resources& resources) const;
  /// Writes them for the index with this content hash, which was just built into the same folder.
  BesideReports write(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                      const Resources& resources, AtomicOutput& folder) const;
};

/// Adds what was written to the figures of a command.
void add_to_json(const BesideReports& reports, Json& json);
void say_reports(const CommonOptions& options, const BesideReports& reports);

}  // namespace quern::tools
