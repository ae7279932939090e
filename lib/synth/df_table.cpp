#include "quern/synth/df_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "quern/core/error.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/text/tokenizer.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

constexpr std::uint64_t max_table_bytes = std::uint64_t{4} << 30;
constexpr std::uint64_t max_df = end_docid - 1;

DfEntry parse_line(std::string_view line, const std::string& name, std::uint64_t number) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) fail_at_line(name, number, "expected term<TAB>df");
  DfEntry entry;
  entry.term = line.substr(0, tab);
  if (entry.term.empty() || entry.term.size() > max_term_bytes)
    fail_at_line(name, number, fmt::format("the term must have 1 to {} bytes", max_term_bytes));
  if (!is_valid_utf8(entry.term)) fail_at_line(name, number, "the term is not UTF-8");
  const std::string_view digits = trim(line.substr(tab + 1));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), entry.df);
  if (error != std::errc() || end != digits.data() + digits.size() || entry.df == 0 || entry.df > max_df)
    fail_at_line(name, number, fmt::format("the df must be a number from 1 to {}", max_df));
  return entry;
}

}  // namespace

std::uint64_t DfTable::postings() const {
  return std::accumulate(terms.begin(), terms.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const DfEntry& entry) { return sum + entry.df; });
}

DfTable read_df_table(const std::string& path) {
  const std::string bytes = read_whole(path, max_table_bytes);
  DfTable table;
  table.name = path == "-" ? "standard input" : path;
  LineReader lines(without_byte_order_mark(bytes));
  std::vector<std::pair<std::string_view, std::uint64_t>> seen;  // term and line
  std::string_view line;
  while (lines.next(line)) {
    if (line.front() == '#') continue;
    table.terms.push_back(parse_line(line, table.name, lines.number()));
    seen.emplace_back(line.substr(0, line.find('\t')), lines.number());
  }
  if (table.terms.empty()) throw InvalidArgument(table.name + ": has no lines of the form term<TAB>df");
  std::sort(seen.begin(), seen.end());
  for (std::size_t i = 1; i < seen.size(); ++i)
    if (seen[i].first == seen[i - 1].first)
      fail_at_line(table.name, seen[i].second,
                   fmt::format("the term '{}' is already in line {}", seen[i].first, seen[i - 1].second));
  std::sort(table.terms.begin(), table.terms.end(), [](const auto& a, const auto& b) { return a.term < b.term; });
  return table;
}

DfTable df_table_of(const IndexReader& index) {
  DfTable table;
  table.name = index.name();
  table.documents = index.num_documents();
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      table.terms.push_back({std::string(term), list.df});
    });
  return table;
}

DfTable scaled_to(DfTable table, std::uint64_t documents) {
  const std::uint64_t own = table.documents == 0 ? documents : table.documents;
  for (DfEntry& entry : table.terms) {
    if (entry.df > own)
      throw InvalidArgument(
          fmt::format("{}: the df of '{}' is {}, more than the {} documents of the table's collection "
                      "(--df-docs)",
                      table.name, entry.term, entry.df, own));
    if (own == documents) continue;
    const double scaled =
        std::round(static_cast<double>(entry.df) * static_cast<double>(documents) / static_cast<double>(own));
    entry.df = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(scaled), 1, documents);
  }
  table.documents = documents;
  return table;
}

}  // namespace quern
