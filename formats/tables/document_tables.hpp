#pragma once
#include "quern/io/byte_source.hpp"

/// Tables of names that users supply: links (link_file.md), models of topics (topic_rankers.md) and scores
/// (score_file.md).
namespace quern {

/// Reads lines of two columns and calls visit(first, second, line number) for each; the views are valid during the
/// call. `columns` is what messages say of a line, such as "from<TAB>to". Only one line is in memory. Throws
/// CorruptFile, with file and line, if one is malformed.
void read_pairs(ByteSource& source, std::string_view columns,
                const std::function<void(std::string_view, std::string_view, std::uint64_t)>& visit);

/// A line of a score file.
struct ScoreLine {
  std::string_view document;  ///< a docno or URL
  float score = 0;            ///< finite, at least 0
  std::uint64_t number = 0;   ///< of the line, from 1
};

/// Reads lines `document score` (score_file.md) and calls visit for each; the view is valid during the call. Throws
/// CorruptFile, with file and line, if one is malformed or its score is negative or not finite.
void read_scores(ByteSource& source, const std::function<void(const ScoreLine&)>& visit);

}  // namespace quern
