#pragma once
#include <string>

#include "quern/formats/index_file.hpp"

namespace quern::tools {

/// The settings that shaped an index, as lines `key = value` for quern index --config.
std::string config_text(const IndexManifest& manifest);

}  // namespace quern::tools
