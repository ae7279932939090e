#include <cstring>

#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/record_finder.hpp"

namespace quern {
namespace {

/// Cuts lines; skips empty ones.
class LineFinder : public RecordFinder {
 public:
  using RecordFinder::RecordFinder;

 protected:
  Step scan(std::string_view window, std::size_t from, bool) override {
    std::size_t at = from;
    if (!in_record()) {
      while (at < window.size() && is_line_end(window[at])) ++at;
      if (at == window.size()) return {Step::ran_out, at, 0, nullptr};
      return {Step::begins, at, at + 1, nullptr};
    }
    const void* const end = at < window.size() ? std::memchr(window.data() + at, '\n', window.size() - at) : nullptr;
    if (end == nullptr) return {Step::ran_out, window.size(), 0, nullptr};
    at = static_cast<std::size_t>(static_cast<const char*>(end) - window.data());
    return {Step::ends, at, 0, nullptr};
  }
  bool ends_with_file() const override { return true; }

 private:
  static bool is_line_end(char c) { return c == '\n' || c == '\r'; }
};

/// Position of the first tab at or after `from`; the record's size if there is none.
std::uint64_t find_tab(const RecordText& record, std::uint64_t from) {
  const std::unique_ptr<PieceSource> pieces = record.pieces(from);
  std::uint64_t at = from;
  for (std::string_view piece = pieces->next(); !piece.empty(); piece = pieces->next()) {
    const std::size_t tab = piece.find('\t');
    if (tab != std::string_view::npos) return at + tab;
    at += piece.size();
  }
  return record.size();
}

bool is_url(std::string_view text) {
  return (starts_with_ignoring_case(text, "http://") || starts_with_ignoring_case(text, "https://")) &&
         text.find(' ') == std::string_view::npos;
}

ParsedRecord parse_tsv(const RecordText& record, RecordScratch& scratch, DocumentText& out) {
  out.clear();
  // The fields before the text are short, or the record is bad.
  std::string_view head = record.head();
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  const std::size_t begin = head.substr(0, byte_order_mark.size()) == byte_order_mark ? byte_order_mark.size() : 0;
  const std::size_t tab = head.find('\t', begin);
  if (tab == std::string_view::npos) {
    const std::uint64_t far_tab = find_tab(record, head.size());
    return far_tab == record.size() ? bad_record("it has no tab after its docno") : docno_too_long(far_tab - begin);
  }
  ParsedRecord result;
  if (!set_docno(head.substr(begin, tab - begin), scratch, out, result)) return result;
  std::uint64_t text = tab + 1;
  const std::size_t next = head.find('\t', tab + 1);
  if (next != std::string_view::npos && is_url(head.substr(tab + 1, next - tab - 1))) {
    set_url(head.substr(tab + 1, next - tab - 1), scratch, out);
    text = next + 1;
    const std::uint64_t title_end = find_tab(record, text);
    if (title_end < record.size()) {
      append_plain_text(*record.pieces(text, title_end), scratch, out.title);
      text = title_end + 1;
    }
  }
  append_plain_text(*record.pieces(text), scratch, out.body);
  return result;
}

/// Link files, judgements and logs look the same, and a corpus's folder may contain them.
bool is_never_detected(std::string_view) { return false; }

}  // namespace

const CorpusFormat tsv_format = {
    .name = "tsv",
    .description =
        "lines id<TAB>text, or id<TAB>url<TAB>title<TAB>text, as in MS MARCO; never detected, so it must be named",
    .detect = is_never_detected,
    .make_finder = make_record_finder<LineFinder>,
    .parse = parse_tsv,
    .text_place = [](const RecordScratch&) { return std::string("behind its docno and URL"); }};

}  // namespace quern
