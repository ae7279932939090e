#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/io/byte_source.hpp"

/// Relevance judgements; see qrels.md.
namespace quern {

struct Judgement {
  std::string qid;
  std::string docno;
  std::int32_t relevance = 0;  ///< 0 and below: judged, not relevant
  bool operator==(const Judgement&) const = default;
};

/// The judgements of a file, in its order: TREC's "qid 0 docno rel", or BEIR's three columns with a heading. Throws
/// CorruptFile, with the line, if columns are missing or the relevance isn't an integer.
std::vector<Judgement> parse_qrels(std::string_view bytes, std::string_view name);

/// A judgement as views of a line.
struct JudgementLine {
  std::string_view qid, docno;
  std::int32_t relevance = 0;
};

/// Calls visit(judgement, line number) for the judgements of a file of any size, in its order; only one line is in
/// memory. Throws what parse_qrels() throws, and CorruptFile if a line has more than 1 MiB.
void read_qrels(ByteSource& source, const std::function<void(const JudgementLine&, std::uint64_t)>& visit);

}  // namespace quern
