#include "quern/formats/corpus/warc.hpp"

#include <string>

#include "quern/core/ascii_text.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/http_message.hpp"
#include "quern/formats/corpus/warc_record_finder.hpp"

namespace quern {
namespace {

/// The header fields that matter here, as views of the record.
struct WarcRecord {
  std::string_view type;
  std::string_view target_uri;
  std::string_view record_id;
  std::string_view trec_id;
  std::string_view content_type;
  std::string_view block;
};

/// "<urn:uuid:X>" without its marks: X.
std::string_view without_brackets(std::string_view text) {
  if (!text.empty() && text.front() == '<') text.remove_prefix(1);
  if (!text.empty() && text.back() == '>') text.remove_suffix(1);
  return trim(text);
}

WarcRecord split_warc(std::string_view record) {
  WarcRecord result;
  take_line(record);  // the version
  while (!record.empty()) {
    const std::string_view line = take_line(record);
    if (line.empty()) break;
    std::string_view name, value;
    if (!split_header(line, name, value)) continue;
    if (equals_ignoring_case(name, "warc-type")) result.type = value;
    if (equals_ignoring_case(name, "warc-target-uri")) result.target_uri = without_brackets(value);
    if (equals_ignoring_case(name, "warc-record-id")) result.record_id = without_brackets(value);
    if (equals_ignoring_case(name, "warc-trec-id")) result.trec_id = value;
    if (equals_ignoring_case(name, "content-type")) result.content_type = value;
  }
  result.block = record;
  return result;
}

std::string_view docno_of(const WarcRecord& record) {
  if (!record.trec_id.empty()) return record.trec_id;
  constexpr std::string_view prefix = "urn:uuid:";
  std::string_view id = record.record_id;
  if (starts_with_ignoring_case(id, prefix)) id.remove_prefix(prefix.size());
  return id;
}

/// "text/html" of "text/html; charset=utf-8".
std::string_view media_type(std::string_view content_type) {
  return trim(content_type.substr(0, content_type.find_first_of(";, ")));
}

bool is_plain_text(std::string_view type) { return equals_ignoring_case(type, "text/plain"); }

bool is_page(std::string_view type) {
  return type.empty() || is_plain_text(type) || equals_ignoring_case(type, "text/html") ||
         starts_with_ignoring_case(type, "application/xhtml");
}

bool is_http(const WarcRecord& record) {
  const std::string_view type = media_type(record.content_type);
  return type.empty() || equals_ignoring_case(type, "application/http") ||
         starts_with_ignoring_case(record.block, "http/");
}

class WarcFormat : public CorpusFormat {
 public:
  std::string_view name() const override { return "warc"; }
  std::string_view description() const override { return "WARC 0.18 and 1.x: HTML and plain text responses"; }
  bool detect(std::string_view head) const override {
    while (!head.empty() && is_ascii_space(head.front())) head.remove_prefix(1);
    return begins_with_warc_record(head);
  }
  std::unique_ptr<RecordFinder> make_finder(std::uint64_t max_record_bytes) const override {
    return make_warc_record_finder(max_record_bytes);
  }

  ParsedRecord parse(std::string_view record, RecordScratch& scratch, DocumentText& out) const override {
    out.clear();
    if (!begins_with_warc_record(record)) return bad_record("it does not begin with a WARC version line");
    const WarcRecord warc = split_warc(record);
    if (warc.type.empty()) return bad_record("it has no WARC-Type");
    if (!equals_ignoring_case(warc.type, "response"))
      return skipped_record("a record of type " + std::string(warc.type));
    if (!is_http(warc)) return skipped_record("a response of type " + std::string(warc.content_type));
    return parse_response(warc, scratch, out);
  }

 private:
  static ParsedRecord parse_response(const WarcRecord& warc, RecordScratch& scratch, DocumentText& out) {
    const HttpResponse http = parse_http_response(warc.block);
    if (http.status != 0 && (http.status < 200 || http.status > 299)) {
      return skipped_record("HTTP status " + std::to_string(http.status));
    }
    const std::string_view type = media_type(http.content_type);
    if (!is_page(type)) return skipped_record("content of type " + std::string(type));

    ParsedRecord result;
    if (!set_docno(docno_of(warc), scratch, out, result)) return result;
    set_url(warc.target_uri, scratch, out);
    std::string_view body = http.body;
    if (equals_ignoring_case(http.transfer_encoding, "chunked")) body = remove_chunks(body, scratch.unchunked);
    std::string problem;
    body = remove_content_encoding(body, http.content_encoding, scratch.max_document_bytes, scratch.decoded, problem);
    if (!problem.empty()) return bad_record(problem);
    if (is_plain_text(type)) {
      extract_plain_page(body, http.content_type, scratch, out);
    } else {
      extract_html(body, http.content_type, scratch, out);
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
