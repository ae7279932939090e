#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string>

#include "quern/core/ascii_text.hpp"
#include "quern/core/bytes.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/text/utf8.hpp"

namespace quern {

/// A parser with its buffers, kept from record to record.
struct JsonParser {
  simdjson::dom::parser parser;
  std::string padded;  ///< the record, with the room after it that simdjson reads
};

namespace {

constexpr std::uint64_t each_byte(std::uint8_t byte) { return 0x0101010101010101u * byte; }

/// Sets the top bit of each byte of `word` that is `byte`; bits above the first one set may be wrong.
std::uint64_t bytes_equal(std::uint64_t word, std::uint8_t byte) {
  const std::uint64_t difference = word ^ each_byte(byte);
  return (difference - each_byte(0x01)) & ~difference & each_byte(0x80);
}

/// The first quote, backslash or line end at or after `at`; the size where there is none. Eight bytes per step, since
/// nearly all of a corpus lies in strings.
std::size_t find_in_string(std::string_view text, std::size_t at) {
  for (; at + 8 <= text.size(); at += 8) {
    const std::uint64_t word = load_le<std::uint64_t>(text.data() + at);
    const std::uint64_t found = bytes_equal(word, '"') | bytes_equal(word, '\\') | bytes_equal(word, '\n');
    if (found) return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
  }
  while (at < text.size() && text[at] != '"' && text[at] != '\\' && text[at] != '\n') ++at;
  return at;
}

bool separates_objects(char c) {
  // With the bytes of a byte order mark.
  return is_ascii_space(c) || c == ',' || c == '[' || c == ']' || c == '\xEF' || c == '\xBB' || c == '\xBF';
}

class JsonlRecordFinder : public RecordFinder {
 public:
  using RecordFinder::RecordFinder;

 protected:
  Step scan(std::string_view window, std::size_t from, bool last) override {
    return in_record() ? find_end(window, from, last) : find_begin(window, from);
  }

 private:
  Step find_begin(std::string_view window, std::size_t at) {
    if (in_junk_) {
      at = window.find('\n', at);
      if (at == std::string_view::npos) return {Step::ran_out, window.size(), 0, nullptr};
      in_junk_ = false;
    }
    while (at < window.size() && separates_objects(window[at])) ++at;
    if (at == window.size()) return {Step::ran_out, at, 0, nullptr};
    if (window[at] != '{') {
      in_junk_ = true;
      return {Step::junk, at, at, "no JSON object begins here, where one should"};
    }
    depth_ = 1;
    in_string_ = is_line_start_ = false;
    previous_ = '{';
    return {Step::begins, at, at + 1, nullptr};
  }

  Step find_end(std::string_view window, std::size_t at, bool last) {
    while (at < window.size()) {
      if (in_string_) {
        at = find_in_string(window, at);
        if (at == window.size()) break;
        if (window[at] == '\\') {
          if (at + 1 == window.size() && !last) return {Step::ran_out, at, 0, nullptr};
          at += window.substr(at + 1, 1) == "\n" ? 1 : 2;
          continue;
        }
        // No string of JSON goes over a line's end: one that seems to is damaged, and must not take the next along.
        in_string_ = false;
        is_line_start_ = window[at] == '\n';
        ++at;
        continue;
      }
      const char c = window[at];
      if (c == '{' && is_line_start_ && !may_open_object()) return {Step::ends, at, 0, nullptr};
      ++at;
      if (is_ascii_space(c)) {
        is_line_start_ = is_line_start_ || c == '\n';
        continue;
      }
      if ((c == '}' || c == ']') && --depth_ == 0) return {Step::ends, at, 0, nullptr};
      if (c == '{' || c == '[') ++depth_;
      in_string_ = c == '"';
      is_line_start_ = false;
      previous_ = c;
    }
    return {Step::ran_out, std::min(at, window.size()), 0, nullptr};
  }

  /// Whether JSON allows an object after what precedes. The outermost level is an object, where it must be a
  /// member's value.
  bool may_open_object() const { return previous_ == ':' || (depth_ > 1 && (previous_ == ',' || previous_ == '[')); }

  bool in_junk_ = false;
  bool in_string_ = false;
  bool is_line_start_ = false;  ///< only white space since the line's begin
  char previous_ = 0;           ///< the last byte outside of strings that is not white space
  std::uint64_t depth_ = 0;
};

using Element = simdjson::dom::element;

/// The names of each field, the one that counts first where a record has several.
constexpr std::array<std::string_view, 5> docno_keys = {"id", "_id", "docno", "docid", "doc_id"};
constexpr std::array<std::string_view, 4> text_keys = {"contents", "text", "content", "body"};
constexpr std::array<std::string_view, 1> title_keys = {"title"};
constexpr std::array<std::string_view, 1> url_keys = {"url"};

/// Parses one object. The element lives until the parser's next use.
simdjson::error_code parse_object(std::string_view record, JsonParser& json, simdjson::dom::object& object) {
  json.padded.assign(record);
  json.padded.append(simdjson::SIMDJSON_PADDING, ' ');
  return json.parser.parse(json.padded.data(), record.size(), false).get_object().get(object);
}

/// The first of the keys that the object has with a value other than null.
template <std::size_t n>
bool find_value(const simdjson::dom::object& object, const std::array<std::string_view, n>& keys, Element& value) {
  for (const std::string_view key : keys) {
    if (object.at_key(key).get(value) == simdjson::SUCCESS && !value.is_null()) return true;
  }
  return false;
}

std::string number_text(const Element& value) {
  char digits[32];
  std::to_chars_result result{digits, std::errc()};
  if (value.is_int64()) {
    result = std::to_chars(digits, digits + sizeof digits, value.get_int64().value_unsafe());
  } else if (value.is_uint64()) {
    result = std::to_chars(digits, digits + sizeof digits, value.get_uint64().value_unsafe());
  } else if (value.is_double()) {
    result = std::to_chars(digits, digits + sizeof digits, value.get_double().value_unsafe());
  }
  return std::string(digits, result.ptr);
}

/// Appends a string, or the strings of an array as phrases; false if the value is something else.
bool append_strings(const Element& value, RecordScratch& scratch, SpooledText& out) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    append_plain_text(text, scratch, out);
    return true;
  }
  simdjson::dom::array texts;
  if (value.get_array().get(texts) != simdjson::SUCCESS) return false;
  for (const Element& one : texts) {
    if (one.get_string().get(text) != simdjson::SUCCESS) return false;
    end_phrase(out);
    append_plain_text(text, scratch, out);
  }
  return true;
}

class JsonlFormat : public CorpusFormat {
 public:
  std::string_view name() const override { return "jsonl"; }
  std::string_view description() const override { return "JSON objects with id, title, contents or text, url"; }

  bool detect(std::string_view head) const override {
    if (head.substr(0, 3) == "\xEF\xBB\xBF") head.remove_prefix(3);
    head = trim(head);
    if (!head.empty() && head.front() == '[') head = trim(head.substr(1));
    if (head.empty() || head.front() != '{') return false;
    head = trim(head.substr(1));
    return head.empty() || head.front() == '"' || head.front() == '}';
  }

  std::unique_ptr<RecordFinder> make_finder(const RecordLimits& limits) const override {
    return std::make_unique<JsonlRecordFinder>(limits);
  }

  ParsedRecord parse(const RecordText& text, RecordScratch& scratch, DocumentText& out) const override {
    const std::string_view record = text.head();
    out.clear();
    if (!scratch.json) scratch.json = std::make_shared<JsonParser>();
    simdjson::dom::object object;
    simdjson::error_code error = parse_object(record, *scratch.json, object);
    if (error == simdjson::UTF8_ERROR) {
      scratch.repaired_utf8 += repair_utf8(record, scratch.converted);
      error = parse_object(scratch.converted, *scratch.json, object);
    }
    if (error != simdjson::SUCCESS)
      return bad_record(std::string("it is no JSON object: ") + simdjson::error_message(error));
    return read_fields(object, scratch, out);
  }

 private:
  static ParsedRecord read_fields(const simdjson::dom::object& object, RecordScratch& scratch, DocumentText& out) {
    ParsedRecord result;
    Element value;
    if (!find_value(object, docno_keys, value)) {
      return bad_record("it has no docno: none of the keys id, _id, docno, docid, doc_id");
    }
    std::string_view text;
    const bool is_string = value.get_string().get(text) == simdjson::SUCCESS;
    const std::string number = is_string ? std::string() : number_text(value);
    if (!set_docno(is_string ? text : number, scratch, out, result)) return result;

    if (find_value(object, url_keys, value) && value.get_string().get(text) == simdjson::SUCCESS) {
      set_url(text, scratch, out);
    }
    if (find_value(object, title_keys, value) && !append_strings(value, scratch, out.title)) {
      return bad_record("its title is not a text");
    }
    if (find_value(object, text_keys, value) && !append_strings(value, scratch, out.body)) {
      return bad_record("its text is not a text");
    }
    return result;
  }
};

}  // namespace

const CorpusFormat& jsonl_format() {
  static const JsonlFormat format;
  return format;
}

}  // namespace quern
