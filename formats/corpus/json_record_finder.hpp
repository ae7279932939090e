#pragma once
#include "quern/formats/corpus/record_finder.hpp"

namespace quern {

/// Makes a finder of the JSON objects of a file, one per line, spread over lines, or in an array; see jsonl.md.
std::unique_ptr<RecordFinder> make_json_record_finder(const RecordLimits& limits);

}  // namespace quern
