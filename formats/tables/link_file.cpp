#include "quern/formats/tables/link_file.hpp"

#include "quern/formats/tables/source_lines.hpp"

namespace quern {

void read_links(ByteSource& source, const std::function<void(std::string_view, std::string_view)>& visit) {
  for_each_source_line(source, [&](std::string_view line, std::uint64_t number) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) fail_at_line(source.name(), number, "is not from<TAB>to: it has no tab");
    const std::string_view from = trim(line.substr(0, tab)), to = trim(line.substr(tab + 1));
    if (from.empty() || to.empty()) fail_at_line(source.name(), number, "is not from<TAB>to: a name is missing");
    if (to.find('\t') != std::string_view::npos)
      fail_at_line(source.name(), number, "is not from<TAB>to: it has a third column");
    visit(from, to);
  });
}

}  // namespace quern
