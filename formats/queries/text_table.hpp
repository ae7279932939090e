#pragma once
#include <span>
#include <string>
#include <string_view>

#include "quern/formats/queries/run_file.hpp"

namespace quern {

/// Appends one query's results for people, for a terminal of 100 columns: the query, then a line a result with rank,
/// score, docno and title in columns, its URL below. Titles are cut to the line, docnos and URLs never.
/// What a terminal would obey (control characters) is left out, and what is not UTF-8 shows as U+FFFD.
void append_results_table(std::string& out, std::string_view qid, std::string_view query_text,
                          std::span<const RunResult> results);

}  // namespace quern
