#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "quern/lab/gpu/shared_stream.hpp"

namespace quern {

/// Answers one query.
using SingleSearch = std::function<std::vector<ScoredDocument>(std::string_view text)>;

/// The times of a log's queries, each sent when the one before is answered: of each, the median of so many passes over
/// the log, at least 1. Throws Error if an answer is not the log's, and what `search` throws.
LatencySummary measure_one_by_one(const StreamLog& log, unsigned repeats, const SingleSearch& search);

}  // namespace quern
