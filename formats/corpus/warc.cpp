#include <string>
#include <utility>

#include "quern/core/ascii_text.hpp"
#include "quern/core/size_text.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/extracted_text.hpp"
#include "quern/formats/corpus/http_body.hpp"
#include "quern/formats/corpus/http_message.hpp"
#include "quern/formats/corpus/warc_header.hpp"

namespace quern {
namespace {

/// "text/html" of "text/html; charset=utf-8".
std::string_view media_type(std::string_view content_type) {
  return trim(content_type.substr(0, content_type.find_first_of(";, ")));
}

bool is_plain_text(std::string_view type) { return equals_ignoring_case(type, "text/plain"); }

bool is_page(std::string_view type) {
  return type.empty() || is_plain_text(type) || equals_ignoring_case(type, "text/html") ||
         starts_with_ignoring_case(type, "application/xhtml");
}

bool is_http(const WarcHeader& header) {
  const std::string_view type = media_type(header.content_type);
  return type.empty() || equals_ignoring_case(type, "application/http") ||
         starts_with_ignoring_case(header.block, "http/");
}

class WarcFormat : public CorpusFormat {
 public:
  std::string_view name() const override { return "warc"; }
  std::string_view description() const override { return "WARC 0.18 and 1.x: HTML and plain text responses, and WET"; }
  bool detect(std::string_view head) const override {
    while (!head.empty() && is_ascii_space(head.front())) head.remove_prefix(1);
    return begins_with_warc_record(head);
  }
  std::unique_ptr<RecordFinder> make_finder(const RecordLimits& limits) const override {
    return make_warc_record_finder(limits);
  }

  ParsedRecord parse(const RecordText& record, RecordScratch& scratch, DocumentText& out) const override {
    out.clear();
    if (!begins_with_warc_record(record.head())) return bad_record("it does not begin with a WARC version line");
    const WarcHeader warc = read_warc_header(record.head());
    if (warc.type.empty()) return bad_record("it has no WARC-Type");
    if (equals_ignoring_case(warc.type, "conversion")) return parse_conversion(record, warc, scratch, out);
    if (!equals_ignoring_case(warc.type, "response"))
      return skipped_record("a record of type " + std::string(warc.type));
    if (!is_http(warc)) return skipped_record("a response of type " + std::string(warc.content_type));
    return parse_response(record, warc, scratch, out);
  }

 private:
  /// Where a part of the head begins in the record; false if what is before it goes on behind the head.
  static bool find_begin(const RecordText& record, std::string_view part, std::size_t& begin, ParsedRecord& problem) {
    begin = static_cast<std::size_t>(part.data() - record.head().data());
    if (begin < record.head().size() || begin == record.size()) return true;
    problem = bad_record("its headers have more than " + size_text(RecordText::head_bytes));
    return false;
  }

  /// The text of a page, as WET files have it.
  static ParsedRecord parse_conversion(const RecordText& record, const WarcHeader& warc, RecordScratch& scratch,
                                       DocumentText& out) {
    const std::string_view type = media_type(warc.content_type);
    if (!is_plain_text(type)) return skipped_record("a conversion to type " + std::string(type));
    ParsedRecord result;
    std::size_t text_begin = 0;
    if (!find_begin(record, warc.block, text_begin, result)) return result;
    if (!set_docno(docno_of(warc), scratch, out, result)) return result;
    set_url(warc.target_uri, scratch, out);
    read_extracted_text(*record.pieces(text_begin), scratch, out);
    return result;
  }

  static ParsedRecord parse_response(const RecordText& record, const WarcHeader& warc, RecordScratch& scratch,
                                     DocumentText& out) {
    const HttpResponse http = parse_http_response(warc.block);
    ParsedRecord result;
    std::size_t body_begin = 0;
    if (!find_begin(record, http.body, body_begin, result)) return result;
    if (http.status != 0 && (http.status < 200 || http.status > 299)) {
      return skipped_record("HTTP status " + std::to_string(http.status));
    }
    const std::string_view type = media_type(http.content_type);
    if (!is_page(type)) return skipped_record("content of type " + std::string(type));

    if (!set_docno(docno_of(warc), scratch, out, result)) return result;
    set_url(warc.target_uri, scratch, out);
    const std::uint64_t repaired_before = scratch.repaired_utf8;
    OpenPieces stored = [&record, body_begin] { return record.pieces(body_begin); };
    if (equals_ignoring_case(http.transfer_encoding, "chunked")) stored = without_chunks(std::move(stored));
    DecodedBody body(std::move(stored), http.content_encoding, scratch.max_document_bytes);
    if (is_plain_text(type)) {
      extract_plain_page(body.pieces(), http.content_type, scratch, out);
    } else {
      extract_html(body.pieces(), http.content_type, scratch, out);
    }
    if (!body.problem().empty()) {
      scratch.repaired_utf8 = repaired_before;  // of a document that doesn't come to be
      return bad_record(body.problem());
    }
    return result;
  }
};

}  // namespace

const CorpusFormat& warc_format() {
  static const WarcFormat format;
  return format;
}

}  // namespace quern
