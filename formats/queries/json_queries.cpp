#include "quern/formats/queries/json_queries.hpp"

#include <fmt/format.h>

#include <new>

#include "quern/text/json_reader.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// Parses an object. The parser refuses what narrowed_json() replaces.
simdjson::error_code parse_object(simdjson::dom::parser& parser, std::string_view json, bool with_long_ids,
                                  simdjson::dom::object& object) {
  auto error = parser.parse(json.data(), json.size(), true).get(object);
  if (error != simdjson::SUCCESS && error != simdjson::MEMALLOC)
    error = parser.parse(narrowed_json(json, with_long_ids)).get(object);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  return error;
}

using Keys = std::vector<std::string_view>;

/// The object's value for the first of `keys` that it contains.
simdjson::simdjson_result<simdjson::dom::element> first_of(const simdjson::dom::object& object, const Keys& keys) {
  for (const std::string_view key : keys) {
    simdjson::dom::element value;
    if (object.at_key(key).get(value) == simdjson::SUCCESS) return value;
  }
  return simdjson::NO_SUCH_FIELD;
}

/// Its first keys, for messages.
std::string keys_of(const simdjson::dom::object& object) {
  constexpr std::size_t max_keys = 10;
  std::string keys;
  std::size_t count = 0;
  for (const simdjson::dom::key_value_pair member : object)
    if (++count <= max_keys) keys += (keys.empty() ? "" : ", ") + quoted_start(member.key);
  return keys + (count > max_keys ? ", ..." : "");
}

/// The only key of an object whose value is an array of objects, such as the queries; empty for other objects.
std::string_view key_of_array(const simdjson::dom::object& object) {
  simdjson::dom::array array;
  if (object.size() != 1) return {};
  const simdjson::dom::key_value_pair member = *object.begin();
  return member.value.get(array) == simdjson::SUCCESS && array.at(0).is_object() ? member.key : std::string_view();
}

[[noreturn]] void refuse(std::string_view what, std::string_view why) { throw InvalidArgument("{}: {}", what, why); }

void refuse_repeated(const std::vector<QueryTerm>& terms, std::string_view what) {
  std::vector<std::string_view> sorted;
  sorted.reserve(terms.size());
  for (const QueryTerm& term : terms) sorted.push_back(term.term);
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) refuse(what, "the term " + quoted_start(*repeated) + " occurs twice");
}

std::vector<QueryTerm> read_terms(const simdjson::dom::object& object, std::string_view what) {
  std::vector<QueryTerm> terms;
  terms.reserve(object.size());
  for (const simdjson::dom::key_value_pair member : object) {
    if (member.key.empty()) refuse(what, "a term is empty");
    double weight = 0;
    if (member.value.get_double().get(weight) != simdjson::SUCCESS)
      refuse(what, fmt::format("the weight of the term {} is not a {}number", quoted_start(member.key),
                               member.value.is_null() ? "finite " : ""));
    if (weight < 0)
      refuse(what, fmt::format("the term {} has the negative weight {}; remove it", quoted_start(member.key), weight));
    terms.push_back({std::string(member.key), weight});
  }
  refuse_repeated(terms, what);
  return terms;
}

}  // namespace

JsonQueries::JsonQueries(const QueryLayout& layout, std::string_view name)
    : is_vector_(layout.format == QueryFormat::vector),
      id_keys_{"_id", "id", "qid", "query_id"},
      text_keys_{"text", "query", "title"},
      joins_texts_(!layout.text_fields.empty()),
      name_(name) {
  if (!layout.id_field.empty()) id_keys_ = {layout.id_field};
  if (is_vector_) text_keys_ = {"vector"};
  if (joins_texts_) text_keys_ = {layout.text_fields.begin(), layout.text_fields.end()};
}

JsonQueries::Parts JsonQueries::read(std::string_view json, std::uint64_t number) {
  const simdjson::dom::object object = parse(json, number);
  Parts query;
  query.id = id_of(object, number);
  text_.clear();
  if (first_of(object, text_keys_).error()) refuse_without_text(object, number);
  if (is_vector_) {
    take_vector(object, number);
  } else {
    for (const std::string_view key : text_keys_)
      if (take_text(object, key, number) && !joins_texts_) break;
  }
  query.text = trim(text_);
  return query;
}

simdjson::dom::object JsonQueries::parse(std::string_view line, std::uint64_t number) {
  simdjson::dom::object object;
  const auto error = parse_object(parser_, line, true, object);
  if (error) fail_at_line(name_, number, std::string("is not a JSON object: ") + simdjson::error_message(error));
  return object;
}

std::string_view JsonQueries::id_of(const simdjson::dom::object& object, std::uint64_t number) {
  simdjson::dom::element id;
  std::string_view text;
  if (first_of(object, id_keys_).get(id)) {
    if (const std::string_view array = key_of_array(object); !array.empty())
      fail_at_line(name_, number,
                   fmt::format("has no \"{}\", but the array {}; make a file of that array, for example with jq .{}",
                               id_keys_.front(), quoted_start(array), array));
    fail_at_line(name_, number,
                 fmt::format("has no \"{}\", but the keys {}; name the id's with {}", id_keys_.front(), keys_of(object),
                             option_name<"id-field">));
  }
  if (id.get(text) == simdjson::SUCCESS) {
    text = trim(text);
  } else if (id.is_int64() || id.is_uint64()) {
    number_id_ = simdjson::minify(id);
    text = number_id_;
  }
  if (text.empty())
    fail_at_line(name_, number, fmt::format("its \"{}\" is neither a string nor an integer", id_keys_.front()));
  return text;
}

void JsonQueries::refuse_without_text(const simdjson::dom::object& object, std::uint64_t number) {
  std::string problem = fmt::format("has no \"{}\", but ", text_keys_.front());
  if (!is_vector_ && object.at_key("vector").error() == simdjson::SUCCESS)
    problem += fmt::format("a \"vector\"; read it with {} vector", option_name<"queries-format">);
  else
    problem += fmt::format("the keys {}; name the query's with {}", keys_of(object), option_name<"text-field">);
  fail_at_line(name_, number, problem);
}

bool JsonQueries::take_text(const simdjson::dom::object& object, std::string_view key, std::uint64_t number) {
  simdjson::dom::element value;
  std::string_view text;
  if (object.at_key(key).get(value)) return false;
  if (value.get(text)) fail_at_line(name_, number, fmt::format("its \"{}\" is not a string", key));
  if (!text_.empty()) text_ += ' ';
  text_ += text;
  return true;
}

void JsonQueries::take_vector(const simdjson::dom::object& object, std::uint64_t number) {
  text_ = simdjson::minify(simdjson::dom::element(first_of(object, text_keys_)));
  try {
    parse_query_vector(text_, fmt::format("its \"{}\"", text_keys_.front()));
  } catch (const InvalidArgument& wrong) {
    fail_at_line(name_, number, wrong.what());
  }
}

std::vector<QueryTerm> parse_query_vector(std::string_view json, std::string_view what) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const auto error = parse_object(parser, json, false, object);
  if (error) refuse(what, fmt::format("is not a JSON object of terms and weights: {}", simdjson::error_message(error)));
  return read_terms(object, what);
}

}  // namespace quern
