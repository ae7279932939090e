#include "query_remarks.hpp"

#include <fmt/format.h>

#include "query_options.hpp"

namespace quern::tools {

void QueryRemarks::look_at(std::string_view query) {
  if (format_ == QueryFormat::vector || options_.quiet) return;
  if (said_.phrase && said_.operators && said_.field && said_.marks) return;
  const QuerySyntax syntax = syntax_in(query);
  const auto say_once = [&](bool is_there, bool& said, const char* what) {
    if (!is_there || said) return;
    said = true;
    say(options_, fmt::format("quern: note: {}, as in: {}", what, query));
  };
  say_once(syntax.phrase, said_.phrase, "words in quotation marks are not read as a phrase, but one by one");
  say_once(syntax.operators, said_.operators, "AND, OR and NOT are read as words; --algorithm says what must match");
  say_once(syntax.field, said_.field, "the field's name in NAME:WORD is read as a word");
  say_once(syntax.marks, said_.marks, "the signs + - * ~ ^ beside a word have no meaning");
}

void QueryRemarks::look_at_id(std::string_view id) {
  if (options_.quiet || said_repeated_ || !ids_.is_repeated(id)) return;
  said_repeated_ = true;
  say(options_, fmt::format("quern: note: more than one query has the id {}; their results have the same id", id));
}

void say_format(const CommonOptions& options, const std::string& path, QueryFormat asked, QueryFormat found) {
  if (asked != QueryFormat::automatic) return;
  say(options, fmt::format("quern: note: {}: read as {}; --queries-format names another format", source_name(path),
                           name_of_value(query_formats, found)));
}

}  // namespace quern::tools
