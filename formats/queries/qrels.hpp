#pragma once
#include "quern/io/byte_source.hpp"

/// Relevance judgements; see qrels.md.
namespace quern {

/// A judgement as views of a line.
struct JudgementLine {
  std::string_view qid, docno;
  std::int32_t relevance = 0;  ///< 0 and below: judged, not relevant
};

/// Calls visit(judgement, line number) for the judgements of a file of any size, in its order: TREC's "qid 0 docno
/// rel", or BEIR's three columns with a heading. Only one line is in memory. Throws CorruptFile, with the line, if
/// columns are missing, the relevance isn't an integer, or the line has more than 1 MiB.
void read_qrels(ByteSource& source, const std::function<void(const JudgementLine&, std::uint64_t)>& visit);

}  // namespace quern
