#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/analyzer.hpp"

namespace quern {

/// How the text of a query is read: as words, which the index's analyzer makes terms of, or as a JSON object of terms,
/// as the index has them, and their weights (parse_query_vector()).
enum class QueryText { words, vector };

/// The terms of a query's text, for what asks for no weights. A word that occurs twice is there twice; terms of a
/// vector that have the weight 0 are left out, as they are where documents are scored. Throws InvalidArgument for a
/// text that is to be a vector and is none.
std::vector<std::string> terms_of_query(std::string_view text, QueryText kind, Analyzer& analyzer);

}  // namespace quern
