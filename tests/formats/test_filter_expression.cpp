#include <limits>

#include "quern/core/error.hpp"
#include "quern/formats/queries/filter_expression.hpp"

#include "catch.hpp"

/// Parsing of filters, and its errors.
namespace quern {
namespace {

using Catch::Contains;

/// The steps in postfix order, comparisons as "field op values".
std::string postfix(std::string_view text) {
  static constexpr const char* operators[] = {"=", "<", "<=", ">", ">=", "^=", "has"};
  const FilterExpression filter = parse_filter(text);
  std::string out;
  for (const FilterStep& step : filter.steps) {
    if (!out.empty()) out += ' ';
    switch (step.kind) {
      case FilterStep::Kind::negate:
        out += "not";
        break;
      case FilterStep::Kind::both:
        out += "and";
        break;
      case FilterStep::Kind::either:
        out += "or";
        break;
      case FilterStep::Kind::compare: {
        const FilterComparison& comparison = filter.comparisons[step.comparison];
        out += comparison.field + operators[static_cast<std::size_t>(comparison.op)];
        for (const std::string& value : comparison.texts) out += "[" + value + "]";
      }
    }
  }
  return out;
}

std::string wrong(std::string_view text) {
  try {
    parse_filter(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("filters bind 'not' before 'and' before 'or'", "[filter]") {
  CHECK(postfix("a=1") == "a=[1]");
  CHECK(postfix(" a = 1 ") == "a=[1]");
  CHECK(postfix("a=1 or b=2 and c=3") == "a=[1] b=[2] c=[3] and or");
  CHECK(postfix("(a=1 or b=2) and c=3") == "a=[1] b=[2] or c=[3] and");
  CHECK(postfix("not a=1 and b!=2") == "a=[1] not b=[2] not and");
  CHECK(postfix("not (a=1 or not b<2)") == "a=[1] b<[2] not or not");
  CHECK(postfix("a<=1 and b>=2 and c>3") == "a<=[1] b>=[2] and c>[3] and");
  CHECK(postfix("has a or has has-b") == "ahas has-bhas or");
}

TEST_CASE("values in filters may be quoted, and are numbers or booleans only if they are not", "[filter]") {
  CHECK(postfix("url^=http://a.example/?q=1&x") == "url^=[http://a.example/?q=1&x]");
  CHECK(postfix("a=\"two words\"") == "a=[two words]");
  CHECK(postfix("a='it\\'s \\\\ so'") == "a=[it's \\ so]");
  CHECK(postfix("a in (c, \"b \", a)") == "a=[a][b ][c]");
  CHECK(postfix("a=and and b=or") == "a=[and] b=[or] and");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto numbers = [](std::string_view text) { return parse_filter(text).comparisons[0].numbers; };
  CHECK(numbers("a=12") == std::vector<double>{12});
  CHECK(numbers("a=-1.5e3") == std::vector<double>{-1500});
  CHECK(numbers("a in (7, x, -1, \"5\", 1e1)") == std::vector<double>{-1, 7, 10});
  // Beyond float64.
  CHECK(numbers("a in (1e309, -1e309, 1e-400, 1e308)") == std::vector<double>{-infinity, 0, 1e308, infinity});
  for (const char* text : {"a=\"12\"", "a=12px", "a=inf", "a=nan", "a=1e309px", "a=-"}) CHECK(numbers(text).empty());
  const auto booleans = [](std::string_view text) {
    const FilterComparison comparison = parse_filter(text).comparisons[0];
    return std::pair(comparison.has_true, comparison.has_false);
  };
  CHECK(booleans("a=true") == std::pair(true, false));
  CHECK(booleans("a in (x, false)") == std::pair(false, true));
  CHECK(booleans("a='true'") == std::pair(false, false));
}

TEST_CASE("errors in filters name the position and the expected word", "[filter]") {
  CHECK_THAT(wrong(""), Contains("at its end: expected a field name"));
  CHECK_THAT(wrong("lang"), Contains("at its end: expected one of = != <"));
  CHECK_THAT(wrong("lang="), Contains("at its end: expected a value"));
  CHECK_THAT(wrong("lang==en"), Contains("at byte 6, '=en': a value that begins with =, < or > needs quotes"));
  CHECK_THAT(wrong("n<>1"), Contains("at byte 3, '>1': a value that begins with") && Contains("= !="));
  CHECK_THAT(wrong("n in (1, <2)"), Contains("at byte 10, '<2)': a value that begins with"));
  CHECK(wrong("lang='=en' and url^=\"<\"") == "nothing");
  CHECK_THAT(wrong("lang=en date=1"), Contains("at byte 9, 'date=1': expected 'and', 'or' or the end"));
  CHECK_THAT(wrong("(lang=en"), Contains("at its end: expected ')', 'and' or 'or'"));
  CHECK_THAT(wrong("lang=en)"), Contains("at byte 8, ')'"));
  CHECK_THAT(wrong("lang in en"), Contains("at byte 9, 'en': expected '('"));
  CHECK_THAT(wrong("lang in (en de)"), Contains("at byte 13, 'de)': expected ',' or ')'"));
  CHECK_THAT(wrong("lang in ()"), Contains("at byte 10, ')': expected a value"));
  CHECK_THAT(wrong("lang='en"), Contains("at byte 6, ''en': unterminated quote"));
  CHECK_THAT(wrong("lang='en\\"), Contains("unterminated quote"));
  CHECK_THAT(wrong("not"), Contains("at its end: expected a field name"));
  CHECK_THAT(wrong("and=1"), Contains("at byte 1, 'and=1': expected a field name"));
  CHECK_THAT(wrong("has (a)"), Contains("at byte 5, '(a)': expected a field name"));
  CHECK_THAT(wrong("a ~ b"), Contains("at byte 3, '~ b': expected one of"));
  CHECK_THAT(wrong(std::string(max_filter_bytes + 1, ' ')), Contains("bytes"));
}

TEST_CASE("filters are nested up to a depth, and have a maximum length", "[filter]") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '(') + "a=1" + std::string(depth, ')'); };
  CHECK(wrong(nested(30)) == "nothing");
  CHECK_THAT(wrong(nested(31)), Contains("nested more than 30 deep"));
  CHECK_THAT(wrong(nested(200'000)), Contains("nested more than 30 deep"));
  std::string nots;
  for (int i = 0; i < 100'000; ++i) nots += "not ";
  CHECK(wrong(nots.substr(0, 30 * 4) + "a=1") == "nothing");
  CHECK_THAT(wrong(nots.substr(0, 31 * 4) + "a=1"), Contains("nested more than 30 deep"));
  CHECK_THAT(wrong(nots + "a=1"), Contains("nested more than 30 deep"));
  std::string many = "a=1";
  for (int i = 0; i < 10'000; ++i) many += " or a=" + std::to_string(i);
  CHECK(parse_filter(many).comparisons.size() == 10'001);
}

}  // namespace quern
