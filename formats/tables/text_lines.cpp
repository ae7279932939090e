#include "quern/formats/tables/text_lines.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quern {

void fail_at_line(std::string_view name, std::uint64_t line, std::string_view why) {
  throw CorruptFile(std::string(name) + ", line " + std::to_string(line) + ": " + std::string(why));
}

namespace {

template <class Number>
Number number_of(std::string_view field, const TabFields& fields) {
  Number value{};
  if (!parse_number(field, value)) fields.fail(fmt::format("has \"{:.20}\" instead of a number", field));
  return value;
}

}  // namespace

std::string_view TabFields::text() {
  if (at_end_) fail("has too few columns");
  const std::size_t tab = rest_.find('\t');
  const std::string_view field = rest_.substr(0, tab);
  at_end_ = tab == std::string_view::npos;
  rest_.remove_prefix(at_end_ ? rest_.size() : tab + 1);
  if (field.empty()) fail("has an empty column");
  return field;
}

std::uint64_t TabFields::count() { return number_of<std::uint64_t>(text(), *this); }

double TabFields::number() {
  const auto value = number_of<double>(text(), *this);
  if (!std::isfinite(value)) fail("has a number that is not finite");
  return value;
}

void TabFields::end() const {
  if (!at_end_) fail("has too many columns");
}

void TabFields::fail(std::string_view why) const { fail_at_line(name_, number_, why); }

}  // namespace quern
