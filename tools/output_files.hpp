#pragma once
#include <CLI/CLI.hpp>

#include "quern/core/types.hpp"

/// Which options name files that a command writes. All other options and arguments that name files are its inputs.
namespace quern::tools {

/// Endings that complete an option's value to names of files.
using FileEndings = std::vector<const char*>;

/// Marks an option whose value is a file or folder that the command writes, or with `endings` maybe the beginning of
/// their names. Returns it.
CLI::Option* mark_output(CLI::Option* option, FileEndings endings = {});

/// Throws a usage error if a command's output is also one of its inputs (standard input among them), two of its outputs
/// are the same, or one is the file that standard output goes to: the same file, by whatever name, also the file in an
/// index's folder; and if the name of one is longer than file systems take.
void refuse_overwritten_inputs(const CLI::App& command);

}  // namespace quern::tools
