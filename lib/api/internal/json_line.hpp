#pragma once
#include <string>

#include "quern/api/index_builder.hpp"

namespace quern::api {

/// Appends a document as a line of formats/corpus/jsonl.md.
void append_json_line(std::string& out, const NewDocument& document);

}  // namespace quern::api
