#pragma once
#include <functional>
#include <string_view>

#include "quern/io/byte_source.hpp"

namespace quern {

/// A line of a score file.
struct ScoreLine {
  std::string_view document;  ///< a docno or URL
  float score = 0;            ///< finite, at least 0
  std::uint64_t number = 0;   ///< of the line, from 1
};

/// Reads lines `document score` (score_file.md) from front to back and calls visit for each; the view holds during the
/// call. Throws CorruptFile, with file and line, if one is malformed or its score is negative or not finite.
void read_scores(ByteSource& source, const std::function<void(const ScoreLine&)>& visit);

}  // namespace quern
