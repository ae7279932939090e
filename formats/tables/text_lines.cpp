#include "quern/formats/tables/text_lines.hpp"

#include "quern/core/error.hpp"

namespace quern {

std::string_view next_word(std::string_view& rest) {
  while (!rest.empty() && is_ascii_space(rest.front())) rest.remove_prefix(1);
  std::size_t size = 0;
  while (size < rest.size() && !is_ascii_space(rest[size])) ++size;
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(size);
  return word;
}

void fail_at_line(std::string_view name, std::uint64_t line, std::string_view why) {
  throw CorruptFile(std::string(name) + ", line " + std::to_string(line) + ": " + std::string(why));
}

}  // namespace quern
