#include "quern/lab/synth/df_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/core/size_text.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/io/file.hpp"
#include "quern/lab/synth/term_fields.hpp"
#include "quern/text/tokenizer.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

constexpr std::uint64_t max_df = end_docid - 1;
/// Longer lines are invalid.
constexpr std::size_t max_line_bytes = 4096;

/// Memory per term: its entry, its text if too long for the entry, its field, and the term that it follows, with the
/// two counts that select it.
std::uint64_t bytes_of_term(std::size_t size) {
  constexpr std::uint64_t allocation_bytes = 16;
  constexpr std::uint64_t entry = sizeof(DfEntry) + sizeof(TermField) + 2 * sizeof(term_t) + sizeof(double);
  return entry + (size > std::string().capacity() ? size + 1 + allocation_bytes : 0);
}

/// Counts the memory of a table while it is read for the first time.
class TableMemory {
 public:
  TableMemory(const std::string& name, const Resources& resources)
      : name_(name), max_bytes_(resources.memory_bytes - std::min(resources.memory_bytes, min_working_bytes)) {}

  /// Throws InvalidArgument.
  void add(std::size_t term_size) {
    ++terms_;
    bytes_ += bytes_of_term(term_size);
    if (bytes_ > max_bytes_)
      throw InvalidArgument(fmt::format("{}: the first {} terms need {} of memory; raise {}", name_, terms_,
                                        size_text(bytes_ + min_working_bytes), option_name<"memory">));
  }
  std::uint64_t terms() const { return terms_; }

 private:
  const std::string& name_;
  std::uint64_t max_bytes_, bytes_ = 0, terms_ = 0;
};

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

/// visit(entry, line number).
template <class Visit>
void for_each_entry(const WholeFile& file, const std::string& name, Visit&& visit) {
  const auto release = [&](std::string_view piece) { file.release(as_bytes(piece)); };
  LineReader lines(without_byte_order_mark(as_text(file.bytes())), release, max_line_bytes);
  std::string_view line;
  while (lines.next(line)) {
    if (lines.is_cut()) fail_at_line(name, lines.number(), "is too long for term<TAB>df");
    if (line.front() != '#') visit(parse_line(line, name, lines.number()), lines.number());
  }
}

[[noreturn]] void fail_for_repeated_term(const WholeFile& file, const std::string& name, const std::string& term) {
  std::uint64_t first = 0;
  for_each_entry(file, name, [&](const DfEntry& entry, std::uint64_t line) {
    if (entry.term != term) return;
    if (first > 0) fail_at_line(name, line, fmt::format("the term '{}' is already in line {}", term, first));
    first = line;
  });
  throw CorruptFile(name + ": changed while being read");
}

}  // namespace

std::uint64_t DfTable::postings() const {
  return std::accumulate(terms.begin(), terms.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const DfEntry& entry) { return sum + entry.df; });
}

std::uint64_t DfTable::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const DfEntry& entry : terms) bytes += bytes_of_term(entry.term.size());
  return bytes;
}

DfTable read_df_table(const std::string& path, const Resources& resources) {
  const WholeFile file(path, resources);
  DfTable table;
  table.name = path == "-" ? "standard input" : path;
  TableMemory memory(table.name, resources);
  // Counts terms first: a growing table would take twice the memory.
  for_each_entry(file, table.name, [&](const DfEntry& entry, std::uint64_t) { memory.add(entry.term.size()); });
  if (memory.terms() == 0) throw InvalidArgument(table.name + ": has no lines of the form term<TAB>df");
  table.terms.reserve(memory.terms());
  for_each_entry(file, table.name, [&](DfEntry entry, std::uint64_t) { table.terms.push_back(std::move(entry)); });
  std::sort(table.terms.begin(), table.terms.end(), [](const auto& a, const auto& b) { return a.term < b.term; });
  const auto same = std::adjacent_find(table.terms.begin(), table.terms.end(),
                                       [](const auto& a, const auto& b) { return a.term == b.term; });
  if (same != table.terms.end()) fail_for_repeated_term(file, table.name, same->term);
  return table;
}

DfTable df_table_of(const IndexReader& index, const Resources& resources) {
  DfTable table;
  table.name = index.name();
  table.documents = index.num_documents();
  TableMemory memory(table.name, resources);
  const auto for_each_list = [&](auto&& visit) {
    for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) index.for_each_list(block, visit);
  };
  for_each_list([&](std::string_view term, const PostingList&) { memory.add(term.size()); });
  table.terms.reserve(memory.terms());
  for_each_list([&](std::string_view term, const PostingList& list) {
    table.terms.push_back({std::string(term), list.df});
  });
  return table;
}

DfTable scaled_to(DfTable table, std::uint64_t documents) {
  const std::uint64_t own = table.documents == 0 ? documents : table.documents;
  for (DfEntry& entry : table.terms) {
    if (entry.df > own)
      throw InvalidArgument(
          fmt::format("{}: the df of '{}' is {}, more than the {} documents of the table's collection ({})", table.name,
                      entry.term, entry.df, own, option_name<"df-docs">));
    if (own == documents) continue;
    const double scaled =
        std::round(static_cast<double>(entry.df) * static_cast<double>(documents) / static_cast<double>(own));
    entry.df = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(scaled), 1, documents);
  }
  table.documents = documents;
  return table;
}

}  // namespace quern
