#pragma once
#include <string>
#include <string_view>

namespace quern {

/// Where times were measured, or what costs were fitted to: the first lines, `#name<TAB>text`, of both kinds of files.
struct TimesOrigin {
  std::string name;        ///< of the file, for messages
  std::string index_hash;  ///< content hash of the index's container, 16 hexadecimal digits
  std::string scoring;     ///< in words
  std::string cpu, gpu;    ///< models; empty if the file says nothing of one
};

/// Whether the line is one of these, or a comment that nobody reads; what it says goes to `origin`.
bool read_head_line(std::string_view line, TimesOrigin& origin);

/// A line for each text that is not empty, but for the name.
std::string head_lines_text(const TimesOrigin& origin);

/// Throws CorruptFile if the origin does not name an index. `what`: of what the file is.
void check_has_index(const TimesOrigin& origin, std::string_view what);

}  // namespace quern
