#include "quern/formats/tables/document_tables.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

/// Why `word` is not a score; empty if it is one.
std::string parse_score(std::string_view word, float& score) {
  const std::string_view digits = word.front() == '+' ? word.substr(1) : word;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) return "is not a number";
  if (error == std::errc::result_out_of_range) return "is beyond the range of a double";
  if (std::isnan(value)) return "is not a number";
  if (std::signbit(value) && value != 0) return "is negative";
  if (value > static_cast<double>(std::numeric_limits<float>::max())) return "is infinite or beyond a float's range";
  score = static_cast<float>(std::abs(value));
  return {};
}

ScoreLine parse_line(std::string_view line, std::uint64_t number, const std::string& name) {
  ScoreLine entry;
  entry.number = number;
  line = trim(line);
  const std::size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos) fail_at_line(name, number, "is not \"document score\": it has one column");
  entry.document = trim(line.substr(0, blank));
  const std::string_view word = line.substr(blank + 1);
  if (const std::string why = parse_score(word, entry.score); !why.empty())
    fail_at_line(name, number,
                 fmt::format("the score '{}' {}; scores are finite numbers, 0 or greater", word.substr(0, 40), why));
  return entry;
}

}  // namespace

void read_pairs(ByteSource& source, std::string_view columns,
                const std::function<void(std::string_view, std::string_view, std::uint64_t)>& visit) {
  for_each_source_line(source, [&](std::string_view line, std::uint64_t number) {
    const std::size_t tab = line.find('\t');
    const auto fail = [&](const char* why) {
      fail_at_line(source.name(), number, fmt::format("is not {}: {}", columns, why));
    };
    if (tab == std::string_view::npos) fail("it has no tab");
    const std::string_view first = trim(line.substr(0, tab)), second = trim(line.substr(tab + 1));
    if (first.empty() || second.empty()) fail("a name is missing");
    if (second.find('\t') != std::string_view::npos) fail("it has a third column");
    visit(first, second, number);
  });
}

void read_scores(ByteSource& source, const std::function<void(const ScoreLine&)>& visit) {
  for_each_source_line(
      source, [&](std::string_view line, std::uint64_t number) { visit(parse_line(line, number, source.name())); });
}

}  // namespace quern
