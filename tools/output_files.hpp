#pragma once
#include <CLI/CLI.hpp>

/// Which options name files that a command writes. All other options and arguments that name files are its inputs.
namespace quern::tools {

/// Marks an option whose value is a file or folder that the command writes. Returns it.
CLI::Option* mark_output(CLI::Option* option);

/// Throws a usage error if a command's output is also one of its inputs, or two of its outputs are the same: the same
/// file, by whatever name, also the file in an index's folder.
void refuse_overwritten_inputs(const CLI::App& command);

}  // namespace quern::tools
