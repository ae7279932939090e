#include "quern/formats/queries/query_vector.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <algorithm>
#include <new>

#include "quern/core/error.hpp"
#include "quern/core/own_errors.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view why) {
  throw InvalidArgument(fmt::format("{}: {}", what, why));
}

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
      refuse(what, "the weight of the term " + quoted_start(member.key) + " is not a number");
    if (weight < 0)
      refuse(what,
             fmt::format("the term {} has the negative weight {}; leave it out", quoted_start(member.key), weight));
    terms.push_back({std::string(member.key), weight});
  }
  refuse_repeated(terms, what);
  return terms;
}

}  // namespace

std::vector<QueryTerm> parse_query_vector(std::string_view json, std::string_view what) {
  return with_own_errors([&] {
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    const auto error = parser.parse(json.data(), json.size(), true).get(object);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error)
      refuse(what, fmt::format("is not a JSON object of terms and weights: {}", simdjson::error_message(error)));
    return read_terms(object, what);
  });
}

std::string query_vector_text(const std::vector<QueryTerm>& terms) {
  return with_own_errors([&] {
    std::string text = "{";
    for (const QueryTerm& term : terms) {
      if (text.size() > 1) text += ',';
      text += nlohmann::json(term.term).dump() + ':' + nlohmann::json(term.weight).dump();
    }
    return text + '}';
  });
}

}  // namespace quern
