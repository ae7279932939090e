#pragma once
#include <span>

#include "quern/index/make_index.hpp"
#include "quern/index/shards/copy_beside.hpp"
#include "quern/io/atomic_output.hpp"

#include "command.hpp"

/// The files beside an index: options, figures, and copies for indexes that are made of others.
namespace quern::tools {

/// --forward.
void add_forward_option(CLI::App& command, bool& forward);

/// Adds what was written to the figures of a command.
void add_to_json(const SidecarReports& reports, Json& json);
void say_reports(const CommonOptions& options, const SidecarReports& reports);
/// Remarks for people on an index and the files beside it, and with --json the figures of all.
void show_reports(const CommonOptions& options, const BuildReport& index, const SidecarReports& beside,
                  const std::string& output);

/// Writes beside the new index in `out`, which holds these documents of other indexes, copies of their texts, kept
/// fields and forward files.
SidecarReports copy_beside(std::span<const IndexPart> parts, const Resources& resources, AtomicOutput& out);

}  // namespace quern::tools
