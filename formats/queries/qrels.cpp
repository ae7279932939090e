#include "quern/formats/queries/qrels.hpp"

#include <charconv>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/formats/tables/source_bytes.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

/// BEIR's heading line.
bool is_heading(std::string_view line) {
  return next_word(line) == "query-id" && next_word(line) == "corpus-id" && next_word(line) == "score";
}

/// Parses a file's lines in order. `name` is the file's name in messages and must outlive this.
class QrelsLines {
 public:
  explicit QrelsLines(std::string_view name) : name_(name) {}

  /// False if the line is the heading.
  bool read(std::string_view line, std::uint64_t number, JudgementLine& judgement) {
    const bool first = std::exchange(first_, false);
    if (first && is_heading(line)) {
      three_columns_ = true;
      return false;
    }
    judgement.qid = next_word(line);
    if (!three_columns_) next_word(line);
    judgement.docno = next_word(line);
    const std::string_view relevance = next_word(line);
    const char* const end = relevance.data() + relevance.size();
    const auto [stop, error] = std::from_chars(relevance.data(), end, judgement.relevance);
    if (relevance.empty() || error != std::errc() || stop != end) {
      fail_at_line(name_, number,
                   three_columns_ ? "is not \"query-id corpus-id score\"" : "is not \"qid 0 docno relevance\"");
    }
    return true;
  }

 private:
  std::string_view name_;
  bool three_columns_ = false, first_ = true;
};

}  // namespace

std::vector<Judgement> parse_qrels(std::string_view bytes, std::string_view name) {
  return with_own_errors([&]() -> std::vector<Judgement> {
    std::vector<Judgement> judgements;
    LineReader lines(without_byte_order_mark(bytes));
    QrelsLines reader(name);
    JudgementLine judgement;
    for (std::string_view line; lines.next(line);)
      if (reader.read(line, lines.number(), judgement))
        judgements.push_back({std::string(judgement.qid), std::string(judgement.docno), judgement.relevance});
    return judgements;
  });
}

void read_qrels(ByteSource& source, const std::function<void(const JudgementLine&, std::uint64_t)>& visit) {
  with_own_errors([&] {
    QrelsLines reader(source.name());
    JudgementLine judgement;
    for_each_source_line(source, [&](std::string_view line, std::uint64_t number) {
      if (reader.read(line, number, judgement)) visit(judgement, number);
    });
  });
}

}  // namespace quern
