#pragma once
#include <string_view>

#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/model_format.hpp"

namespace quern {

/// Reads the content of XGBoost's model files, which is the same in JSON and UBJSON.
RankerModel read_xgboost_model(const ModelFile& file, std::string_view format,
                               void (*read_values)(std::string_view, const std::string&, JsonEvents&));

}  // namespace quern
