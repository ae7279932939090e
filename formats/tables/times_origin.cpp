#include "quern/formats/tables/times_origin.hpp"

#include "quern/core/ascii_text.hpp"
#include "quern/core/error.hpp"

namespace quern {
namespace {

struct HeadLine {
  std::string_view name;
  std::string TimesOrigin::*text;
};

constexpr HeadLine head_lines[] = {{"index", &TimesOrigin::index_hash},
                                   {"scoring", &TimesOrigin::scoring},
                                   {"cpu", &TimesOrigin::cpu},
                                   {"gpu", &TimesOrigin::gpu}};

}  // namespace

bool read_head_line(std::string_view line, TimesOrigin& origin) {
  if (!line.starts_with('#')) return false;
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return true;
  for (const HeadLine& head : head_lines)
    // Without white space at the ends, such as a CR, which would be lost when the text is written and read again.
    if (line.substr(1, tab - 1) == head.name) origin.*head.text = trim(line.substr(tab + 1));
  return true;
}

std::string head_lines_text(const TimesOrigin& origin) {
  std::string text;
  for (const HeadLine& head : head_lines) {
    if ((origin.*head.text).empty()) continue;
    text.append("#").append(head.name).append("\t").append(origin.*head.text).append("\n");
  }
  return text;
}

void check_has_index(const TimesOrigin& origin, std::string_view what) {
  if (origin.index_hash.empty())
    throw CorruptFile(origin.name + " does not say of which index its " + std::string(what) + " are");
}

}  // namespace quern
