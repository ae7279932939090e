#pragma once
#include <string>

#include "quern/formats/rankers/ranker_model.hpp"

#include "figures.hpp"

namespace quern::tools {

/// Whether a file looks like a learned model: by its first bytes, decompressed.
bool is_model_file(const std::string& path);

/// What a learned model consists of. `as_lines`: with its features and layers by name, for people.
Json model_json(const RankerModel& model, bool as_lines);

}  // namespace quern::tools
