#include "quern/formats/corpus/document_fields.hpp"

#include <algorithm>
#include <utility>

#include "quern/core/ascii_text.hpp"
#include "quern/text/charset.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string_view repaired(std::string_view text, RecordScratch& scratch) {
  scratch.repaired_utf8 += repair_utf8(text, scratch.text);
  return scratch.text;
}

/// The page in UTF-8, not repaired yet; as it is where its charset is unknown.
std::string_view as_utf8(std::string_view page, const std::string& charset, RecordScratch& scratch) {
  const bool converted = charset != "utf-8" && to_utf8(page, charset, scratch.converted);
  return converted ? std::string_view(scratch.converted) : page;
}

std::string whole_text(PieceSource& pieces) {
  std::string whole;
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) whole += piece;
  return whole;
}

}  // namespace

ParsedRecord bad_record(std::string reason) { return {RecordKind::bad, std::move(reason)}; }
ParsedRecord skipped_record(std::string reason) { return {RecordKind::skipped, std::move(reason)}; }

ParsedRecord docno_too_long(std::uint64_t docno_bytes) {
  return bad_record("its docno has " + std::to_string(docno_bytes) + " bytes; " + std::to_string(max_field_bytes) +
                    " are allowed");
}

bool set_docno(std::string_view docno, RecordScratch& scratch, DocumentText& out, ParsedRecord& problem) {
  docno = trim(docno);
  if (docno.size() > max_field_bytes) {
    problem = docno_too_long(docno.size());
  } else if (has_control_character(docno)) {
    problem = bad_record("its docno holds a control character");
  } else {
    out.docno = trim(repaired(docno, scratch));
    if (!out.docno.empty()) return true;
    problem = bad_record("its docno is empty");
  }
  return false;
}

void set_url(std::string_view url, RecordScratch& scratch, DocumentText& out) {
  url = trim(url);
  if (url.size() <= max_field_bytes && !has_control_character(url)) out.url = repaired(url, scratch);
}

void append_plain_text(std::string_view text, RecordScratch& scratch, SpooledText& out) {
  std::string_view rest = repaired(text, scratch);
  for (;;) {
    const std::size_t empty_line = rest.find("\n\n");
    out += rest.substr(0, empty_line);
    if (empty_line == std::string_view::npos) return;
    rest.remove_prefix(empty_line);
    while (!rest.empty() && is_ascii_space(rest.front())) rest.remove_prefix(1);
    end_phrase(out);
  }
}

void end_phrase(SpooledText& stream) {
  if (!stream.empty() && stream.back() != phrase_end) stream += phrase_end;
}

void extract_html(std::string_view html, std::string_view http_content_type, RecordScratch& scratch,
                  DocumentText& out) {
  const std::string charset = html_charset(http_content_type, html);
  scratch.html.extract(repaired(as_utf8(html, charset, scratch), scratch), out.url, out);
}

void extract_plain_page(std::string_view page, std::string_view http_content_type, RecordScratch& scratch,
                        DocumentText& out) {
  const std::string charset = html_charset(http_content_type, {});
  append_plain_text(as_utf8(page, charset, scratch), scratch, out.body);
}

void append_plain_text(PieceSource& text, RecordScratch& scratch, SpooledText& out) {
  append_plain_text(whole_text(text), scratch, out);
}

void extract_html(PieceSource& html, std::string_view http_content_type, RecordScratch& scratch, DocumentText& out) {
  extract_html(whole_text(html), http_content_type, scratch, out);
}

void extract_plain_page(PieceSource& page, std::string_view http_content_type, RecordScratch& scratch,
                        DocumentText& out) {
  extract_plain_page(whole_text(page), http_content_type, scratch, out);
}

}  // namespace quern
