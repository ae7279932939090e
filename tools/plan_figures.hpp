#pragma once
#include "quern/formats/plan_file.hpp"

#include "command.hpp"

namespace quern::tools {

/// What a plan says of itself, as `quern plan` and `quern inspect` print it.
Json to_json(const PlanManifest& manifest);

}  // namespace quern::tools
