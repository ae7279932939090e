#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "quern/core/ascii_text.hpp"
#include "quern/core/size_text.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/http_body.hpp"
#include "quern/formats/corpus/http_message.hpp"

namespace quern {
namespace {

/// A version line is shorter than this.
constexpr std::size_t max_version_line = 16;

/// White space after a block in which the next record is searched, at most.
constexpr std::size_t max_gap = 64;

/// So much after a block shows whether the next record follows it.
constexpr std::size_t max_after_block = max_gap + max_version_line;

/// A header line that is longer is none.
constexpr std::size_t max_header_line = 64 << 10;

constexpr std::string_view version_start = "WARC/";

/// Whether `text` begins with a version line ("WARC/1.0").
bool begins_with_warc_record(std::string_view text) {
  if (text.substr(0, version_start.size()) != version_start) return false;
  const std::string_view version = text.substr(version_start.size(), max_version_line - version_start.size());
  std::size_t at = 0;
  while (at < version.size() && is_ascii_digit(version[at])) ++at;
  if (at == 0 || at == version.size() || version[at] != '.') return false;
  const std::size_t minor = ++at;
  while (at < version.size() && is_ascii_digit(version[at])) ++at;
  return at > minor && (at == version.size() || version[at] == '\r' || version[at] == '\n');
}

/// Whether the next record, or nothing at all, follows what ends here.
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

  /// Between records there should be line ends only. Other lines are reported once and skipped.
  Step find_record(std::string_view window, std::size_t at, bool last) {
    for (;;) {
      if (in_junk_line_) {
        at = std::min(window.find('\n', at), window.size());
        in_junk_line_ = at == window.size();
      }
      while (at < window.size() && is_ascii_space(window[at])) ++at;
      if (at == window.size() || (!last && window.size() - at < max_version_line)) {
        return {Step::ran_out, at, 0, nullptr};
      }
      if (begins_with_warc_record(window.substr(at))) {
        is_junk_told_ = false;
        has_length_ = false;
        place_ = Place::header;
        return {Step::begins, at, at + version_start.size(), nullptr};
      }
      in_junk_line_ = true;
      if (!is_junk_told_) {
        is_junk_told_ = true;
        return {Step::junk, at, at, "no WARC record begins here, where one should"};
      }
    }
  }

  Step read_header(std::string_view window, std::size_t at, bool last) {
    for (;;) {
      const std::size_t line_end = window.find('\n', at);
      if (line_end == std::string_view::npos || line_end - at > max_header_line) {
        if (line_end == std::string_view::npos && !last && window.size() - at <= max_header_line) {
          return {Step::ran_out, at, 0, nullptr};
        }
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
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), promised_bytes_);
    has_length_ = error == std::errc() && end == value.data() + value.size();
  }

  Step enter_block(std::string_view window, std::size_t at, bool last) {
    place_ = Place::lost;
    const std::uint64_t header_bytes = record_bytes_before(at), max_bytes = limits().max_record_bytes;
    // A length beyond the limit can't be checked without holding that much: it is ignored.
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
    if (shows_end ? end <= window.size() && is_record_end(window.substr(end)) : is_record_end_ahead(end)) {
      return {Step::ends, end, 0, nullptr};
    }
    place_ = Place::lost;
    return find_version_line(window, from, last);
  }

  bool is_record_end_ahead(std::uint64_t end) const {
    // With the record's last byte, as the file may end before it.
    const std::string after = peek(end - 1, 1 + max_after_block);
    return !after.empty() && is_record_end(std::string_view(after).substr(1));
  }

  static Step find_version_line(std::string_view window, std::size_t from, bool last) {
    const std::string marker = "\n" + std::string(version_start);
    std::size_t at = from - std::min<std::size_t>(from, 1);
    for (;; ++at) {
      at = window.find(marker, at);
      if (at == std::string_view::npos) {
        // One byte less than the marker may stand at the window's end; the byte before `at` is looked at again.
        const std::size_t kept = marker.size() - 2;
        return {Step::ran_out, last ? window.size() : std::max(from, window.size() - std::min(window.size(), kept)), 0,
                nullptr};
      }
      if (!last && window.size() - at <= max_version_line) return {Step::ran_out, at + 1, 0, nullptr};
      if (begins_with_warc_record(window.substr(at + 1))) return {Step::ends, at + 1, 0, nullptr};
    }
  }

  bool in_junk_line_ = false;
  bool is_junk_told_ = false;
  bool has_length_ = false;
  Place place_ = Place::header;
  std::uint64_t promised_bytes_ = 0;
  std::uint64_t promised_end_ = 0;  ///< counted from the record's begin
};

/// The header fields that matter here, as views of the record.
struct WarcRecord {
  std::string_view type;
  std::string_view target_uri;
  std::string_view record_id;
  std::string_view trec_id;
  std::string_view content_type;
  std::string_view block;  ///< of what is in memory
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
  std::unique_ptr<RecordFinder> make_finder(const RecordLimits& limits) const override {
    return std::make_unique<WarcRecordFinder>(limits);
  }

  ParsedRecord parse(const RecordText& record, RecordScratch& scratch, DocumentText& out) const override {
    out.clear();
    if (!begins_with_warc_record(record.head())) return bad_record("it does not begin with a WARC version line");
    const WarcRecord warc = split_warc(record.head());
    if (warc.type.empty()) return bad_record("it has no WARC-Type");
    if (!equals_ignoring_case(warc.type, "response"))
      return skipped_record("a record of type " + std::string(warc.type));
    if (!is_http(warc)) return skipped_record("a response of type " + std::string(warc.content_type));
    return parse_response(record, warc, scratch, out);
  }

 private:
  static ParsedRecord parse_response(const RecordText& record, const WarcRecord& warc, RecordScratch& scratch,
                                     DocumentText& out) {
    const HttpResponse http = parse_http_response(warc.block);
    const auto body_begin = static_cast<std::size_t>(http.body.data() - record.head().data());
    if (body_begin == record.head().size() && body_begin < record.size()) {
      return bad_record("its headers have more than " + size_text(RecordText::head_bytes));
    }
    if (http.status != 0 && (http.status < 200 || http.status > 299)) {
      return skipped_record("HTTP status " + std::to_string(http.status));
    }
    const std::string_view type = media_type(http.content_type);
    if (!is_page(type)) return skipped_record("content of type " + std::string(type));

    ParsedRecord result;
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
