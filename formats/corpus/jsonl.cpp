#include "quern/formats/corpus/jsonl.hpp"

#include <simdjson.h>

#include <array>
#include <charconv>
#include <string>

#include "quern/core/ascii_text.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/jsonl_record_finder.hpp"
#include "quern/text/utf8.hpp"

namespace quern {

/// A parser with its buffers, kept from record to record.
struct JsonParser {
  simdjson::dom::parser parser;
  std::string padded;  ///< the record, with the room behind it that simdjson reads
};

namespace {

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

/// Appends a string, or the strings of an array as phrases; false where the value is something else.
bool append_strings(const Element& value, RecordScratch& scratch, std::string& out) {
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

  std::unique_ptr<RecordFinder> make_finder(std::uint64_t max_record_bytes) const override {
    return make_jsonl_record_finder(max_record_bytes);
  }

  ParsedRecord parse(std::string_view record, RecordScratch& scratch, DocumentText& out) const override {
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
      return bad_record("its title is no text");
    }
    if (find_value(object, text_keys, value) && !append_strings(value, scratch, out.body)) {
      return bad_record("its text is no text");
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
