#pragma once
#include "quern/index/make_index.hpp"

#include "command.hpp"

/// Options and figures of the files beside an index.
namespace quern::tools {

/// --forward.
void add_forward_option(CLI::App& command, bool& forward);

/// Adds what was written to the figures of a command.
void add_to_json(const SidecarReports& reports, Json& json);
void say_reports(const CommonOptions& options, const SidecarReports& reports);
/// Remarks for people on an index and the files beside it, and with --json the figures of all.
void show_reports(const CommonOptions& options, const BuildReport& index, const SidecarReports& beside,
                  const std::string& output);

}  // namespace quern::tools
