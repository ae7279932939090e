#include "quern/search/query_text.hpp"

#include <utility>

#include "quern/formats/queries/query_vector.hpp"

namespace quern {

std::vector<std::string> terms_of_query(std::string_view text, QueryText kind, Analyzer& analyzer) {
  if (kind == QueryText::words) return analyzer.terms(text);
  std::vector<std::string> terms;
  for (QueryTerm& term : parse_query_vector(text, "the query"))
    if (term.weight != 0) terms.push_back(std::move(term.term));
  return terms;
}

}  // namespace quern
