#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/http_body.hpp"
#include "quern/formats/corpus/trec_record_finder.hpp"
#include "quern/text/sgml_tag.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// The parts of a record before the page, as views of its head.
struct Parts {
  bool has_docno = false;
  std::string_view docno;
  std::string_view header;
  std::size_t page_begin = 0;  ///< offset in the record
};

/// Splits the text after <DOCHDR> into header and page. A header without an end tag ends before the first line that
/// begins with a tag.
void split_behind_dochdr(std::string_view head, std::size_t begin, SgmlTagScanner& tags, Parts& parts) {
  std::size_t end = std::min(head.find("\n<", begin), head.size());
  std::size_t page_begin = end;
  SgmlTag tag;
  for (std::size_t at = begin; tags.next(at, tag); at = tag.end) {
    if (!equals_ignoring_case(tag.name, "dochdr")) continue;
    end = tag.begin;
    page_begin = tag.end;
    break;
  }
  parts.header = head.substr(begin, end - begin);
  parts.page_begin = page_begin;
}

bool begins_page(const SgmlTag& tag) {
  return equals_ignoring_case(tag.name, "html") || equals_ignoring_case(tag.name, "body");
}

/// Reads the tags up to DOCHDR, or up to the page if there is none.
Parts split_trecweb(std::string_view head) {
  Parts parts;
  SgmlTagScanner tags(head);
  SgmlTag tag;
  bool is_docno_open = false;
  for (std::size_t at = 0; tags.next(at, tag) && !begins_page(tag); at = tag.end) {
    if (equals_ignoring_case(tag.name, "dochdr") && !tag.closing) {
      split_behind_dochdr(head, tag.end, tags, parts);
      break;
    }
    if (!equals_ignoring_case(tag.name, "docno")) continue;
    if (!tag.closing && !parts.has_docno) {
      const std::size_t end = std::min(head.find('<', tag.end), head.size());
      parts.docno = head.substr(tag.end, end - tag.end);
      parts.page_begin = end;
      parts.has_docno = is_docno_open = true;
    } else if (tag.closing && is_docno_open) {
      parts.page_begin = tag.end;
      is_docno_open = false;
    }
  }
  return parts;
}

/// The first word of the first non-empty line, if it is a URL: WT10g puts IP address, date, type and size after it.
std::string_view url_of(std::string_view& header) {
  std::string_view line;
  while (line.empty() && !header.empty()) line = trim(take_line(header));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  const bool is_url = word.find("://") != std::string_view::npos || starts_with_ignoring_case(word, "www.");
  return is_url ? word : std::string_view();
}

/// The end of the page that begins at `begin`: without trailing white space and the record's end tag, which isn't HTML.
std::uint64_t page_end(const RecordText& record, std::uint64_t begin) {
  constexpr std::string_view end_tag = "</doc>";
  const std::uint64_t end = record.trimmed_end(begin, record.size());
  if (end - begin < end_tag.size()) return end;
  std::array<char, end_tag.size()> last;
  record.read_at(end - last.size(), last);
  return equals_ignoring_case({last.data(), last.size()}, end_tag) ? end - last.size() : end;
}

/// A text without leading white space.
class TrimmedPieces final : public PieceSource {
 public:
  explicit TrimmedPieces(PieceSource& from) : from_(&from) {}
  std::string_view next() override {
    std::string_view piece = from_->next();
    while (!has_begun_ && !piece.empty()) {
      while (!piece.empty() && is_ascii_space(piece.front())) piece.remove_prefix(1);
      has_begun_ = !piece.empty();
      if (!has_begun_) piece = from_->next();
    }
    return piece;
  }

 private:
  PieceSource* from_;
  bool has_begun_ = false;
};

bool is_trecweb(std::string_view head) {
  if (!begins_with_trec_record(head)) return false;
  SgmlTagScanner tags(head);
  SgmlTag tag;
  for (std::size_t at = 0; tags.next(at, tag); at = tag.end)
    if (equals_ignoring_case(tag.name, "dochdr")) return true;
  return false;
}

ParsedRecord parse_trecweb(const RecordText& record, RecordScratch& scratch, DocumentText& out) {
  out.clear();
  ParsedRecord result;
  Parts parts = split_trecweb(record.head());
  if (!parts.has_docno) return bad_record("it has no <DOCNO>");
  if (!set_docno(parts.docno, scratch, out, result)) return result;
  set_url(url_of(parts.header), scratch, out);
  const auto pieces = record.pieces(parts.page_begin, page_end(record, parts.page_begin));
  TrimmedPieces page(*pieces);
  extract_html(page, parse_http_headers(parts.header).content_type, scratch, out);
  return result;
}

}  // namespace

const CorpusFormat trecweb_format = {"trecweb", "TREC web pages: <DOC> with <DOCNO>, <DOCHDR>, HTML", is_trecweb,
                                     make_trec_record_finder, parse_trecweb};

}  // namespace quern
