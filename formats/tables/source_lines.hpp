#pragma once
#include <string>
#include <string_view>

#include "quern/formats/tables/source_bytes.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {

/// Calls visit(line, number) for the lines of a source that are not blank, counting all from 1: without their ends, the
/// first without a byte-order mark. For text files of any size. Throws CorruptFile if a line has more than 1 MiB.
template <class Visit>
void for_each_source_line(ByteSource& source, Visit&& visit) {
  SourceBytes bytes(source);
  std::string line;
  for (std::uint64_t number = 1; bytes.line(line); ++number) {
    const std::string_view text = number == 1 ? without_byte_order_mark(line) : std::string_view(line);
    if (!trim(text).empty()) visit(text, number);
  }
}

}  // namespace quern
