#include <algorithm>
#include <string>

#include "quern/core/bytes.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/json_fields.hpp"
#include "quern/formats/corpus/json_parser.hpp"
#include "quern/formats/corpus/json_reader.hpp"
#include "quern/formats/corpus/record_finder.hpp"
#include "quern/text/field_value.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;

/// Finds a field's value: that of its first key whose value isn't null.
bool find_value(const Object& object, const JsonKeys& keys, JsonField field, Element& value) {
  for (const JsonKey& key : keys.all()) {
    if (key.field == field && object.at_key(key.name).get(value) == simdjson::SUCCESS && !value.is_null()) return true;
  }
  return false;
}

/// Appends a string, or an array's strings as phrases; false for other values.
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

/// Adds the weights of an object's terms.
void add_weights(const Object& terms, DocumentWeights& weights) {
  for (const simdjson::dom::key_value_pair member : terms) {
    double weight = 0;
    if (member.value.get_double().get(weight) == simdjson::SUCCESS) {
      weights.add(member.key, member.key.size(), weight);
    } else {
      weights.add_without_weight(member.key);
    }
  }
}

/// Reads a document's weights and returns their error, if any.
WeightsProblem read_weights(const Object& object, RecordScratch& scratch, DocumentText& out) {
  Element value;
  Object terms;
  if (!find_value(object, scratch.json_keys, JsonField::weights, value) || value.get_object().get(terms))
    return json_without_weights(scratch.json_keys);
  DocumentWeights weights(scratch, out);
  add_weights(terms, weights);
  return weights.finish();
}

/// Appends the kept fields' values. Returns false and sets `problem` if one can't be kept.
bool keep_fields(const Object& object, const JsonKeys& keys, DocumentText& out, ParsedRecord& problem) {
  for (const std::string& name : keys.kept()) {
    Element value;
    std::string_view text;
    double number = 0;
    bool boolean = false;
    if (object.at_key(name).get(value) != simdjson::SUCCESS || value.is_null()) {
      put_field_value(out.kept, {});
    } else if (value.get_string().get(text) == simdjson::SUCCESS) {
      if (!keep_text(name, text, text.size(), out, problem)) return false;
    } else if (value.get_double().get(number) == simdjson::SUCCESS) {
      put_field_value(out.kept, {FieldValue::Kind::number, number, {}});
    } else if (value.get_bool().get(boolean) == simdjson::SUCCESS) {
      put_field_value(out.kept, {boolean ? FieldValue::Kind::yes : FieldValue::Kind::no, 0, {}});
    } else {
      problem = not_a_kept_value(name);
      return false;
    }
  }
  return true;
}

std::string remark_on_unread(const Object& object, const JsonKeys& keys) {
  UnreadKeys unread;
  const auto& kept = keys.kept();
  for (const simdjson::dom::key_value_pair member : object) {
    if (std::find(kept.begin(), kept.end(), member.key) != kept.end()) continue;
    if (!keys.find(member.key) && !member.value.is_null()) unread.add(member.key);
  }
  return unread.remark(keys);
}

ParsedRecord read_fields(const Object& object, RecordScratch& scratch, DocumentText& out) {
  ParsedRecord result;
  const JsonKeys& keys = scratch.json_keys;
  Element value;
  if (!find_value(object, keys, JsonField::docno, value)) return json_without_docno(keys);
  std::string_view text;
  const bool is_string = value.get_string().get(text) == simdjson::SUCCESS;
  const std::string number = is_string ? std::string() : number_text(value);
  if (!set_docno(is_string ? text : number, scratch, out, result)) return result;

  if (find_value(object, keys, JsonField::url, value) && value.get_string().get(text) == simdjson::SUCCESS) {
    set_url(text, scratch, out);
  }
  if (find_value(object, keys, JsonField::title, value) && !append_strings(value, scratch, out.title)) {
    return bad_record("its title is not a string");
  }
  if (!keep_fields(object, keys, out, result)) return result;
  const bool has_text = find_value(object, keys, JsonField::text, value);
  if (has_text && !append_strings(value, scratch, out.body)) return bad_record("its text is not a string");
  if (scratch.impacts) return json_with_weights(read_weights(object, scratch, out), out);
  if (!has_text) result.remark = remark_on_unread(object, keys);
  return result;
}

/// Parses an object in memory.
ParsedRecord parse_whole(std::string_view record, RecordScratch& scratch, DocumentText& out) {
  Object object;
  simdjson::error_code error = scratch.json->parse(record).get_object().get(object);
  if (error == simdjson::UTF8_ERROR) {
    scratch.repaired_utf8 += repair_utf8(record, scratch.converted);
    error = scratch.json->parse(scratch.converted).get_object().get(object);
  }
  if (error != simdjson::SUCCESS) return json_is_damaged(simdjson::error_message(error));
  return read_fields(object, scratch, out);
}

class JsonlFormat : public CorpusFormat {
 public:
  std::string_view name() const override { return "jsonl"; }
  std::string_view description() const override { return "JSON objects with id, title, contents or text, url"; }
  bool gives_weights() const override { return true; }

  bool detect(std::string_view head) const override {
    if (head.substr(0, 3) == "\xEF\xBB\xBF") head.remove_prefix(3);
    head = trim(head);
    if (!head.empty() && head.front() == '[') head = trim(head.substr(1));
    if (head.empty() || head.front() != '{') return false;
    head = trim(head.substr(1));
    return head.empty() || head.front() == '"' || head.front() == '}';
  }

  std::unique_ptr<RecordFinder> make_finder(const RecordLimits& limits) const override {
    return make_json_record_finder(limits);
  }

  ParsedRecord parse(const RecordText& record, RecordScratch& scratch, DocumentText& out) const override {
    out.clear();
    if (!scratch.json) scratch.json = std::make_shared<JsonParser>();
    // simdjson is fast, but needs several times the record's size.
    return record.is_whole() ? parse_whole(record.head(), scratch, out) : parse_json_in_pieces(record, scratch, out);
  }
};

}  // namespace

const CorpusFormat& jsonl_format() {
  static const JsonlFormat format;
  return format;
}

}  // namespace quern
