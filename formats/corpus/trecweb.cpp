#include <algorithm>

#include "quern/core/ascii_text.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/http_message.hpp"
#include "quern/formats/corpus/record_finder.hpp"
#include "quern/text/sgml_tag.hpp"

namespace quern {
namespace {

/// The parts of a record, as views of it.
struct Parts {
  bool has_docno = false;
  std::string_view docno;
  std::string_view header;
  std::string_view page;
};

/// Parts what follows <DOCHDR> into header and page. A header without its end tag ends before the line that
/// begins with a tag.
void split_behind_dochdr(std::string_view record, std::size_t begin, SgmlTagScanner& tags, Parts& parts) {
  std::size_t end = std::min(record.find("\n<", begin), record.size());
  std::size_t page_begin = end;
  SgmlTag tag;
  for (std::size_t at = begin; tags.next(at, tag); at = tag.end) {
    if (!equals_ignoring_case(tag.name, "dochdr")) continue;
    end = tag.begin;
    page_begin = tag.end;
    break;
  }
  parts.header = record.substr(begin, end - begin);
  parts.page = record.substr(page_begin);
}

bool begins_page(const SgmlTag& tag) {
  return equals_ignoring_case(tag.name, "html") || equals_ignoring_case(tag.name, "body");
}

/// Reads the tags up to DOCHDR, or up to the page where there is none.
Parts split_trecweb(std::string_view record) {
  Parts parts;
  SgmlTagScanner tags(record);
  SgmlTag tag;
  bool is_docno_open = false;
  for (std::size_t at = 0; tags.next(at, tag) && !begins_page(tag); at = tag.end) {
    if (equals_ignoring_case(tag.name, "dochdr") && !tag.closing) {
      split_behind_dochdr(record, tag.end, tags, parts);
      break;
    }
    if (!equals_ignoring_case(tag.name, "docno")) continue;
    if (!tag.closing && !parts.has_docno) {
      const std::size_t end = std::min(record.find('<', tag.end), record.size());
      parts.docno = record.substr(tag.end, end - tag.end);
      parts.page = record.substr(end);
      parts.has_docno = is_docno_open = true;
    } else if (tag.closing && is_docno_open) {
      parts.page = record.substr(tag.end);
      is_docno_open = false;
    }
  }
  return parts;
}

/// The first word of the first line that is not empty, where it is an address: WT10g puts IP address, date, type and
/// size after it.
std::string_view url_of(std::string_view& header) {
  std::string_view line;
  while (line.empty() && !header.empty()) line = trim(take_line(header));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  const bool is_url = word.find("://") != std::string_view::npos || starts_with_ignoring_case(word, "www.");
  return is_url ? word : std::string_view();
}

/// Without the record's end tag, which HTML doesn't know.
std::string_view without_doc_end(std::string_view page) {
  page = trim(page);
  constexpr std::string_view end_tag = "</doc>";
  if (page.size() >= end_tag.size() && equals_ignoring_case(page.substr(page.size() - end_tag.size()), end_tag)) {
    page.remove_suffix(end_tag.size());
  }
  return page;
}

class TrecWebFormat : public CorpusFormat {
 public:
  std::string_view name() const override { return "trecweb"; }
  std::string_view description() const override { return "TREC web pages: <DOC> with <DOCNO>, <DOCHDR>, HTML"; }
  bool detect(std::string_view head) const override {
    if (!begins_with_trec_record(head)) return false;
    SgmlTagScanner tags(head);
    SgmlTag tag;
    for (std::size_t at = 0; tags.next(at, tag); at = tag.end) {
      if (equals_ignoring_case(tag.name, "dochdr")) return true;
    }
    return false;
  }
  std::unique_ptr<RecordFinder> make_finder(const RecordLimits& limits) const override {
    return make_trec_record_finder(limits);
  }

  ParsedRecord parse(const RecordText& text, RecordScratch& scratch, DocumentText& out) const override {
    const std::string_view record = text.head();
    out.clear();
    ParsedRecord result;
    Parts parts = split_trecweb(record);
    if (!parts.has_docno) return bad_record("it has no <DOCNO>");
    if (!set_docno(parts.docno, scratch, out, result)) return result;
    set_url(url_of(parts.header), scratch, out);
    extract_html(without_doc_end(parts.page), parse_http_headers(parts.header).content_type, scratch, out);
    return result;
  }
};

}  // namespace

const CorpusFormat& trecweb_format() {
  static const TrecWebFormat format;
  return format;
}

}  // namespace quern
