#pragma once
#include "quern/formats/index_file.hpp"

#include "command.hpp"

/// Settings of `quern index` in a file.
namespace quern::tools {

/// Adds --config FILE to a command that begins with apply_config_file().
void add_config_option(CLI::App& command);

/// Reads the file that --config names: lines `key = value`, keys being the command's long option names, # comments.
/// Sets every option that the command line left open. Throws InvalidArgument with file and line for an unknown key or
/// a value that the option refuses.
void apply_config_file(CLI::App& command);

/// The files that an index has beside it.
struct FilesBeside {
  bool forward = false, texts = false;
};

/// The settings that shaped an index, as lines `key = value` for quern index --config.
std::string config_text(const IndexManifest& manifest, const FilesBeside& beside);

}  // namespace quern::tools
