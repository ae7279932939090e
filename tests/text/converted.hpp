#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quern/text/utf8.hpp"

namespace quern::testing {

/// The whole text in UTF-8; nullopt if the charset needs no conversion or is unknown.
inline std::optional<std::string> converted(std::string_view text, std::string_view charset) {
  CharsetConverter converter(charset);
  if (!converter.converts()) return std::nullopt;
  std::string out;
  converter.append(text, out);
  converter.finish(out);
  return out;
}

}  // namespace quern::testing
