#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Relevance judgements; see qrels.md.
namespace quern {

struct Judgement {
  std::string qid;
  std::string docno;
  std::int32_t relevance = 0;  ///< 0 and below: judged, not relevant
  bool operator==(const Judgement&) const = default;
};

/// The judgements of a file, in its order: TREC's "qid 0 docno rel", or BEIR's three columns with a heading line.
/// Throws CorruptFile, with the line, if columns are missing or the relevance is not a whole number.
std::vector<Judgement> parse_qrels(std::string_view bytes, std::string_view name);

}  // namespace quern
