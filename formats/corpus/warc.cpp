#include <string>
#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/core/size_text.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/http_body.hpp"
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

/// Why a response isn't a page; empty if it is.
std::string why_no_page(const HttpResponse& http) {
  if (http.status != 0 && (http.status < 200 || http.status > 299)) return "HTTP status " + std::to_string(http.status);
  const std::string_view type = media_type(http.content_type);
  return is_page(type) ? "" : "content of type " + std::string(type);
}

/// Why its headers rule a record out as a document; empty if they don't.
std::string why_skipped(const WarcHeader& warc) {
  if (equals_ignoring_case(warc.type, "conversion")) {
    const std::string_view type = media_type(warc.content_type);
    return is_plain_text(type) ? "" : "a conversion to type " + std::string(type);
  }
  if (!equals_ignoring_case(warc.type, "response")) return "a record of type " + std::string(warc.type);
  return is_http(warc) ? "" : "a response of type " + std::string(warc.content_type);
}

/// "eng" of "eng,deu".
std::string first_language(std::string_view languages) {
  constexpr std::size_t max_bytes = 15;  // longer text isn't a code and must not take memory
  return std::string(trim(languages.substr(0, languages.find(','))).substr(0, max_bytes));
}

/// The first language in Common Crawl's metadata of a page, from the line
/// languages-cld2: {…,"languages":[{"code":"en","code-iso-639-3":"eng",…},…]}
std::string language_in_metadata(std::string_view block) {
  while (!block.empty()) {
    std::string_view name, value;
    if (!split_header(take_line(block), name, value) || !equals_ignoring_case(name, "languages-cld2")) continue;
    constexpr std::string_view key = "\"code-iso-639-3\"";
    const std::size_t at = value.find(key);
    if (at == std::string_view::npos) return {};
    value = trim(value.substr(at + key.size()));
    if (value.substr(0, 1) != ":") return {};
    value = trim(value.substr(1));
    if (value.substr(0, 1) != "\"") return {};
    value.remove_prefix(1);
    return first_language(value.substr(0, value.find('"')));
  }
  return {};
}

Hash128 hash_of_name(std::string_view name) { return name.empty() ? Hash128() : xxh3_128(as_bytes(name)); }

/// Finds the offset of a part of the head; false if the headers before it don't fit in the head.
bool find_begin(const RecordText& record, std::string_view part, std::size_t& begin, ParsedRecord& problem) {
  begin = static_cast<std::size_t>(part.data() - record.head().data());
  if (begin < record.head().size() || begin == record.size()) return true;
  problem = bad_record("its headers have more than " + size_text(RecordText::head_bytes));
  return false;
}

/// Parses the text of a page, as in WET files.
ParsedRecord parse_conversion(const RecordText& record, const WarcHeader& warc, RecordScratch& scratch,
                              DocumentText& out) {
  ParsedRecord result;
  std::size_t text_begin = 0;
  if (!find_begin(record, warc.block, text_begin, result)) return result;
  if (!set_docno(docno_of(warc), scratch, out, result)) return result;
  set_url(warc.target_uri, scratch, out);
  read_extracted_text(*record.pieces(text_begin), scratch, out);
  return result;
}

ParsedRecord parse_response(const RecordText& record, const WarcHeader& warc, RecordScratch& scratch,
                            DocumentText& out) {
  const HttpResponse http = parse_http_response(warc.block);
  ParsedRecord result;
  std::size_t body_begin = 0;
  if (!find_begin(record, http.body, body_begin, result)) return result;
  if (std::string reason = why_no_page(http); !reason.empty()) return skipped_record(std::move(reason));
  if (!set_docno(docno_of(warc), scratch, out, result)) return result;
  set_url(warc.target_uri, scratch, out);
  const std::uint64_t repaired_before = scratch.repaired_utf8;
  OpenPieces stored = [&record, body_begin] { return record.pieces(body_begin); };
  if (equals_ignoring_case(http.transfer_encoding, "chunked")) stored = without_chunks(std::move(stored));
  DecodedBody body(std::move(stored), http.content_encoding, scratch.max_document_bytes);
  if (is_plain_text(media_type(http.content_type)))
    extract_plain_page(body.pieces(), http.content_type, scratch, out);
  else
    extract_html(body.pieces(), http.content_type, scratch, out);
  if (!body.problem().empty()) {
    scratch.repaired_utf8 = repaired_before;  // this document is dropped
    return bad_record(body.problem());
  }
  return result;
}

ParsedRecord parse_warc(const RecordText& record, RecordScratch& scratch, DocumentText& out) {
  out.clear();
  if (!begins_with_warc_record(record.head())) return bad_record("it doesn't begin with a WARC version line");
  const WarcHeader warc = read_warc_header(record.head());
  if (warc.type.empty()) return bad_record("it has no WARC-Type");
  if (std::string reason = why_skipped(warc); !reason.empty()) return skipped_record(std::move(reason));
  if (equals_ignoring_case(warc.type, "conversion")) return parse_conversion(record, warc, scratch, out);
  return parse_response(record, warc, scratch, out);
}

RecordLabels warc_labels(const RecordText& record) {
  const WarcHeader warc = read_warc_header(record.head());
  RecordLabels labels;
  labels.id = hash_of_name(warc.record_id);
  if (equals_ignoring_case(warc.type, "metadata")) {
    labels.language = language_in_metadata(warc.block);
    labels.describes = hash_of_name(warc.concurrent_to);
  } else {
    labels.language = first_language(warc.languages);
  }
  // A response's block contains HTTP headers too; a conversion's block is all payload.
  const bool is_conversion = equals_ignoring_case(warc.type, "conversion");
  const bool has_payload_digest = !warc.payload_digest.empty() || !is_conversion;
  labels.payload = hash_of_name(has_payload_digest ? warc.payload_digest : warc.block_digest);
  labels.may_be_document =
      why_skipped(warc).empty() && (is_conversion || why_no_page(parse_http_response(warc.block)).empty());
  return labels;
}

bool is_warc(std::string_view head) {
  while (!head.empty() && is_ascii_space(head.front())) head.remove_prefix(1);
  return begins_with_warc_record(head);
}

}  // namespace

const CorpusFormat warc_format = {.name = "warc",
                                  .description = "WARC 0.18 and 1.x: HTML and plain text responses, and WET",
                                  .detect = is_warc,
                                  .make_finder = make_warc_record_finder,
                                  .parse = parse_warc,
                                  .labels = warc_labels,
                                  .states_languages = true};

}  // namespace quern
