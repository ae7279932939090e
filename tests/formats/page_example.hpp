#pragma once
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "quern/core/types.hpp"

/// The worked examples of format pages: blocks between ``` lines.
namespace quern::testing {

/// The verbatim block of a page that begins with the line "``` name".
inline std::string page_block(const std::string& page, const std::string& name) {
  std::ifstream in(std::string(QUERN_SOURCE_DIR) + "/formats/" + page);
  std::string block;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (inside && line == "```") break;
    if (inside) block += line + "\n";
    if (line == "``` " + name) inside = true;
  }
  return block;
}

/// The rows "name: bytes in hexadecimal" of such a block; a row that begins with a space continues the previous one.
inline std::map<std::string, std::string> page_bytes(const std::string& page, const std::string& name) {
  std::map<std::string, std::string> rows;
  const std::string block = page_block(page, name);
  std::string* row = nullptr;
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = block.find('\n', at), colon = block.find(':', at);
    std::size_t from = at;
    if (block[at] != ' ') {
      row = &rows[block.substr(at, colon - at)];
      from = colon + 1;
    }
    for (; from < end; ++from)
      if (block[from] != ' ') *row += block[from];
    at = end + 1;
  }
  return rows;
}

/// Lower-case hexadecimal digits, without spaces.
inline std::string hex_text(ByteView bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace quern::testing
