#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/http_body.hpp"
#include "quern/formats/corpus/record_finder.hpp"

namespace quern {
namespace {

/// The start of a version line ("WARC/1.0"), and the limit of its length.
constexpr std::string_view warc_version_start = "WARC/";
constexpr std::size_t max_warc_version_line = 16;

/// Fields of the header, as views of the record. Missing ones are empty.
struct WarcHeader {
  std::string_view type;
  std::string_view target_uri;
  std::string_view record_id;
  std::string_view trec_id;
  std::string_view content_type;
  std::string_view languages;  ///< ISO 639-3 codes with commas between, main language first
  std::string_view payload_digest, block_digest;
  std::string_view concurrent_to;  ///< ID of the concurrent record
  std::string_view block;          ///< the part of it in memory
};

/// The X of "<urn:uuid:X>".
std::string_view without_brackets(std::string_view text) {
  if (!text.empty() && text.front() == '<') text.remove_prefix(1);
  if (!text.empty() && text.back() == '>') text.remove_suffix(1);
  return trim(text);
}

/// Whether `text` begins with a version line.
bool begins_with_warc_record(std::string_view text) {
  if (text.substr(0, warc_version_start.size()) != warc_version_start) return false;
  const std::string_view version =
      text.substr(warc_version_start.size(), max_warc_version_line - warc_version_start.size());
  std::size_t at = 0;
  while (at < version.size() && is_ascii_digit(version[at])) ++at;
  if (at == 0 || at == version.size() || version[at] != '.') return false;
  const std::size_t minor = ++at;
  while (at < version.size() && is_ascii_digit(version[at])) ++at;
  return at > minor && (at == version.size() || version[at] == '\r' || version[at] == '\n');
}

/// Reads the header of a record that begins with a version line.
WarcHeader read_warc_header(std::string_view record) {
  WarcHeader result;
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
    if (equals_ignoring_case(name, "warc-identified-content-language")) result.languages = value;
    if (equals_ignoring_case(name, "warc-payload-digest")) result.payload_digest = value;
    if (equals_ignoring_case(name, "warc-block-digest")) result.block_digest = value;
    if (equals_ignoring_case(name, "warc-concurrent-to")) result.concurrent_to = without_brackets(value);
  }
  result.block = record;
  return result;
}

/// WARC-TREC-ID if present, otherwise the record's ID without `<urn:uuid:` and `>`.
std::string_view docno_of(const WarcHeader& header) {
  if (!header.trec_id.empty()) return header.trec_id;
  constexpr std::string_view prefix = "urn:uuid:";
  std::string_view id = header.record_id;
  if (starts_with_ignoring_case(id, prefix)) id.remove_prefix(prefix.size());
  return id;
}

/// Limit of white space between a block and the next record.
constexpr std::size_t max_gap = 64;

/// Bytes after a block that show whether the next record follows.
constexpr std::size_t max_after_block = max_gap + max_warc_version_line;

/// Limit of a header line's bytes.
constexpr std::size_t max_header_line = 64 << 10;

/// Whether `after` is the end of the file or the start of a record.
bool is_record_end(std::string_view after) {
  std::size_t at = 0;
  while (at < std::min(after.size(), max_gap) && is_ascii_space(after[at])) ++at;
  return at == after.size() || at == max_gap || begins_with_warc_record(after.substr(at));
}

class WarcRecordFinder : public RecordFinder {
 public:
  using RecordFinder::RecordFinder;

 protected:
  Step scan(std::string_view window, std::size_t from, bool last) override {
    if (!in_record()) return find_record(window, from, last);
    switch (place_) {
      case Place::header:
        return read_header(window, from, last);
      case Place::block:
        return jump_over_block(window, from, last);
      case Place::lost:
        break;
    }
    return find_version_line(window, from, last);
  }

 private:
  enum class Place {
    header,
    block,  ///< after a header whose Content-Length may be right
    lost    ///< the next version line ends the record
  };

  /// Only line ends should separate records. Other lines are reported once and skipped.
  Step find_record(std::string_view window, std::size_t at, bool last) {
    for (;;) {
      if (in_junk_line_) {
        at = std::min(window.find('\n', at), window.size());
        in_junk_line_ = at == window.size();
      }
      while (at < window.size() && is_ascii_space(window[at])) ++at;
      if (at == window.size() || (!last && window.size() - at < max_warc_version_line))
        return {Step::ran_out, at, 0, nullptr};
      if (begins_with_warc_record(window.substr(at))) {
        junk_reported_ = false;
        has_length_ = false;
        place_ = Place::header;
        return {Step::begins, at, at + warc_version_start.size(), nullptr};
      }
      in_junk_line_ = true;
      if (!junk_reported_) {
        junk_reported_ = true;
        return {Step::junk, at, at, "no WARC record begins here"};
      }
    }
  }

  Step read_header(std::string_view window, std::size_t at, bool last) {
    for (;;) {
      const std::size_t line_end = window.find('\n', at);
      if (line_end == std::string_view::npos || line_end - at > max_header_line) {
        if (line_end == std::string_view::npos && !last && window.size() - at <= max_header_line)
          return {Step::ran_out, at, 0, nullptr};
        place_ = Place::lost;
        return find_version_line(window, at, last);
      }
      std::string_view rest = window.substr(at);
      const std::string_view line = take_line(rest);
      if (begins_with_warc_record(line)) return {Step::ends, at, 0, nullptr};
      at = line_end + 1;
      if (line.empty()) return enter_block(window, at, last);
      note_length(line);
    }
  }

  void note_length(std::string_view line) {
    std::string_view name, value;
    if (!split_header(line, name, value) || !equals_ignoring_case(name, "content-length")) return;
    has_length_ = parse_number(value, promised_bytes_);
  }

  Step enter_block(std::string_view window, std::size_t at, bool last) {
    place_ = Place::lost;
    const std::uint64_t header_bytes = record_bytes_before(at), max_bytes = limits().max_record_bytes;
    // Checking a length beyond the limit would need that much memory: ignore it.
    if (has_length_ && header_bytes <= max_bytes && promised_bytes_ <= max_bytes - header_bytes) {
      place_ = Place::block;
      promised_end_ = header_bytes + promised_bytes_;
    }
    return scan(window, at, last);
  }

  Step jump_over_block(std::string_view window, std::size_t from, bool last) {
    const std::uint64_t end = window_place(promised_end_);
    const bool shows_end = last || window.size() >= end + max_after_block;
    if (!shows_end && promised_end_ <= limits().max_in_memory) return {Step::ran_out, from, 0, nullptr};
    if (shows_end ? end <= window.size() && is_record_end(window.substr(end)) : is_record_end_ahead(end))
      return {Step::ends, end, 0, nullptr};
    place_ = Place::lost;
    return find_version_line(window, from, last);
  }

  bool is_record_end_ahead(std::uint64_t end) const {
    // Include the record's last byte: the file may end before it.
    const std::string after = peek(end - 1, 1 + max_after_block);
    return !after.empty() && is_record_end(std::string_view(after).substr(1));
  }

  static Step find_version_line(std::string_view window, std::size_t from, bool last) {
    const std::string marker = "\n" + std::string(warc_version_start);
    std::size_t at = from - std::min<std::size_t>(from, 1);
    for (;; ++at) {
      at = window.find(marker, at);
      if (at == std::string_view::npos) {
        // All but one byte of the marker may be at the window's end; the byte before `at` is checked again.
        const std::size_t kept = marker.size() - 2;
        return {Step::ran_out, last ? window.size() : std::max(from, window.size() - std::min(window.size(), kept)), 0,
                nullptr};
      }
      if (!last && window.size() - at <= max_warc_version_line) return {Step::ran_out, at + 1, 0, nullptr};
      if (begins_with_warc_record(window.substr(at + 1))) return {Step::ends, at + 1, 0, nullptr};
    }
  }

  bool in_junk_line_ = false;
  bool junk_reported_ = false;
  bool has_length_ = false;
  Place place_ = Place::header;
  std::uint64_t promised_bytes_ = 0;
  std::uint64_t promised_end_ = 0;  ///< offset from the record's start
};

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

/// Whether the record is a text or a page without HTTP headers.
bool is_conversion(const WarcHeader& warc) { return equals_ignoring_case(warc.type, "conversion"); }
bool is_resource(const WarcHeader& warc) { return equals_ignoring_case(warc.type, "resource"); }

/// Crawlers write their logs as resources in plain text, under URIs of their own.
bool is_log(const WarcHeader& warc) {
  return is_plain_text(media_type(warc.content_type)) && (starts_with_ignoring_case(warc.target_uri, "metadata:") ||
                                                          starts_with_ignoring_case(warc.target_uri, "urn:"));
}

/// Why its headers rule a record out as a document; empty if they don't.
std::string why_skipped(const WarcHeader& warc) {
  const std::string_view type = media_type(warc.content_type);
  if (is_conversion(warc)) return is_plain_text(type) ? "" : "a conversion to type " + std::string(type);
  if (is_resource(warc)) {
    if (is_log(warc)) return "a resource with a crawler's log";
    return !type.empty() && is_page(type) ? "" : "a resource of type " + std::string(type);
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

/// Reads the page that begins at `begin`; returns a bad record if its codings can't be undone. `codings`, the one
/// applied last at the end, may be empty.
ParsedRecord read_page(const RecordText& record, std::size_t begin, std::string_view codings,
                       std::string_view content_type, RecordScratch& scratch, DocumentText& out) {
  const std::uint64_t repaired_before = scratch.repaired_utf8;
  DecodedBody page([&] { return record.pieces(begin); }, codings, scratch.max_document_bytes);
  if (is_plain_text(media_type(content_type)))
    extract_plain_page(page.pieces(), content_type, scratch, out);
  else
    extract_html(page.pieces(), content_type, scratch, out);
  if (page.problem().empty()) return {};
  scratch.repaired_utf8 = repaired_before;  // this document is dropped
  return bad_record(page.problem());
}

/// Parses a record whose block is the text of a page, as in WET files, or a page.
ParsedRecord parse_block(const RecordText& record, const WarcHeader& warc, RecordScratch& scratch, DocumentText& out) {
  ParsedRecord result;
  std::size_t begin = 0;
  if (!find_begin(record, warc.block, begin, result)) return result;
  if (!set_docno(docno_of(warc), scratch, out, result)) return result;
  set_url(warc.target_uri, scratch, out);
  if (!is_conversion(warc)) return read_page(record, begin, {}, warc.content_type, scratch, out);
  read_extracted_text(*record.pieces(begin), scratch, out);
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
  return read_page(record, body_begin, http.content_encoding + ',' + http.transfer_encoding, http.content_type, scratch,
                   out);
}

ParsedRecord parse_warc(const RecordText& record, RecordScratch& scratch, DocumentText& out) {
  out.clear();
  if (!begins_with_warc_record(record.head())) return bad_record("it doesn't begin with a WARC version line");
  const WarcHeader warc = read_warc_header(record.head());
  if (warc.type.empty()) return bad_record("it has no WARC-Type");
  if (std::string reason = why_skipped(warc); !reason.empty()) return skipped_record(std::move(reason));
  if (is_conversion(warc) || is_resource(warc)) return parse_block(record, warc, scratch, out);
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
  // A response's block contains HTTP headers too; other blocks are all payload.
  const bool is_all_payload = is_conversion(warc) || is_resource(warc);
  const bool has_payload_digest = !warc.payload_digest.empty() || !is_all_payload;
  labels.payload = hash_of_name(has_payload_digest ? warc.payload_digest : warc.block_digest);
  labels.may_be_document =
      why_skipped(warc).empty() && (is_all_payload || why_no_page(parse_http_response(warc.block)).empty());
  return labels;
}

bool is_warc(std::string_view head) {
  while (!head.empty() && is_ascii_space(head.front())) head.remove_prefix(1);
  return begins_with_warc_record(head);
}

}  // namespace

const CorpusFormat warc_format = {.name = "warc",
                                  .description = "WARC 0.18 and 1.x: HTML and plain text, and WET",
                                  .detect = is_warc,
                                  .make_finder = make_record_finder<WarcRecordFinder>,
                                  .parse = parse_warc,
                                  .labels = warc_labels,
                                  .states_languages = true};

}  // namespace quern
