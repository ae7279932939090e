#include "quern/formats/queries/qrels.hpp"

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
    if (!parse_number(next_word(line), judgement.relevance))
      fail_at_line(name_, number,
                   three_columns_ ? "is not \"query-id corpus-id score\"" : "is not \"qid 0 docno relevance\"");
    return true;
  }

 private:
  std::string_view name_;
  bool three_columns_ = false, first_ = true;
};

}  // namespace

void read_qrels(ByteSource& source, const std::function<void(const JudgementLine&, std::uint64_t)>& visit) {
  QrelsLines reader(source.name());
  JudgementLine judgement;
  for_each_source_line(source, [&](std::string_view line, std::uint64_t number) {
    if (reader.read(line, number, judgement)) visit(judgement, number);
  });
}

}  // namespace quern
