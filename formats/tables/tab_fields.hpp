#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Lines whose fields are separated by tabs, and lines `#name<TAB>text` before them: what tables of times and of costs
/// have in common.
namespace quern {

/// Takes the fields of a line, one after the other. Throws CorruptFile, with file and line, if there is none or it is
/// not what is asked for.
class TabFields {
 public:
  /// `name`: what messages call the file; `number`: of the line. Both texts must outlive it.
  TabFields(std::string_view line, std::string_view name, std::uint64_t number)
      : rest_(line), name_(name), number_(number) {}

  /// Never empty.
  std::string_view text();
  /// A whole number below 2^64.
  std::uint64_t count();
  /// A finite number.
  double number();
  /// Throws if there are further fields.
  void end() const;
  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::string_view rest_, name_;
  std::uint64_t number_;
  bool at_end_ = false;
};

/// Lines `#name<TAB>text` of a table, which has their texts as members.
template <class Table>
struct HeadLine {
  std::string_view name;
  std::string Table::*text;
};

/// Whether the line is a head line, or a comment that nobody reads; the text of a head line goes to the table.
template <class Table>
bool read_head_line(std::string_view line, std::span<const HeadLine<Table>> heads, Table& table) {
  if (!line.starts_with('#')) return false;
  const std::size_t tab = line.find('\t');
  for (const HeadLine<Table>& head : heads)
    if (tab != std::string_view::npos && line.substr(1, tab - 1) == head.name) table.*head.text = line.substr(tab + 1);
  return true;
}

/// The head lines of the table whose texts are not empty.
template <class Table>
std::string head_lines_text(std::span<const HeadLine<Table>> heads, const Table& table) {
  std::string text;
  for (const HeadLine<Table>& head : heads)
    if (!(table.*head.text).empty())
      text.append("#").append(head.name).append("\t").append(table.*head.text).append("\n");
  return text;
}

}  // namespace quern
