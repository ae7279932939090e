#pragma once
#include "quern/api/fusion.hpp"
#include "quern/eval/run_fusion.hpp"

namespace quern::api {

/// The library's options for these. Throws WrongUsage for those that don't apply, InvalidArgument for unknown names.
quern::FusionOptions fusion_options(const FusionOptions& options, const std::vector<std::string>& paths);

}  // namespace quern::api
