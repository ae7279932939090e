#include "quern/formats/queries/qrels.hpp"

#include <charconv>

#include "quern/core/own_errors.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

/// BEIR's heading line.
bool is_heading(std::string_view line) {
  return next_word(line) == "query-id" && next_word(line) == "corpus-id" && next_word(line) == "score";
}

}  // namespace

std::vector<Judgement> parse_qrels(std::string_view bytes, std::string_view name) {
  return with_own_errors([&]() -> std::vector<Judgement> {
    std::vector<Judgement> judgements;
    LineReader lines(without_byte_order_mark(bytes));
    bool three_columns = false;
    bool first = true;
    for (std::string_view line; lines.next(line); first = false) {
      if (first && is_heading(line)) {
        three_columns = true;
        continue;
      }
      Judgement& entry = judgements.emplace_back();
      entry.qid = next_word(line);
      if (!three_columns) next_word(line);
      entry.docno = next_word(line);
      const std::string_view relevance = next_word(line);
      const auto [end, error] = std::from_chars(relevance.data(), relevance.data() + relevance.size(), entry.relevance);
      if (relevance.empty() || error != std::errc() || end != relevance.data() + relevance.size()) {
        fail_at_line(name, lines.number(),
                     three_columns ? "is not \"query-id corpus-id score\"" : "is not \"qid 0 docno relevance\"");
      }
    }
    return judgements;
  });
}

}  // namespace quern
