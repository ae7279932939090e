#pragma once
#include <functional>
#include <string_view>

#include "quern/io/byte_source.hpp"

namespace quern {

/// Reads lines `from<TAB>to` (link_file.md) from front to back and calls visit(from, to) for each; the views hold
/// during the call. Only one line is in memory. Throws CorruptFile, with file and line, if one is malformed.
void read_links(ByteSource& source, const std::function<void(std::string_view, std::string_view)>& visit);

}  // namespace quern
