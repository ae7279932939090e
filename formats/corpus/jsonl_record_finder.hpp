#pragma once
#include <cstdint>
#include <memory>

#include "quern/formats/corpus/record_finder.hpp"

namespace quern {

/// Cuts JSON into its outermost objects, at braces and brackets outside of strings; the rules stand in jsonl.md.
std::unique_ptr<RecordFinder> make_jsonl_record_finder(std::uint64_t max_record_bytes);

}  // namespace quern
