#pragma once
#include <string_view>

namespace quern {

/// What other search engines read in a query, and Quern takes for words.
struct QuerySyntax {
  bool phrase = false;     ///< quotation marks around words
  bool operators = false;  ///< AND, OR or NOT, in a text that is not all in capitals
  bool field = false;      ///< a prefix such as title:
  bool marks = false;      ///< a sign at a word, as in +water, -wind, mil*, mill~ or mill^2
};

/// Looks for it in a query's text.
QuerySyntax syntax_in(std::string_view text);

}  // namespace quern
