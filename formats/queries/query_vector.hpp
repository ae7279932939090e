#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Queries with weighted terms, as learned sparse retrieval models produce them; see query_file.md.
namespace quern {

/// A term of the index, and its weight in place of a frequency.
struct QueryTerm {
  std::string term;
  double weight = 1;
  bool operator==(const QueryTerm&) const = default;
};

/// The terms of a JSON object {"term": weight, …}, in its order. Throws InvalidArgument, with `what`, for other JSON,
/// an empty or repeated term, or a weight that isn't a non-negative number.
std::vector<QueryTerm> parse_query_vector(std::string_view json, std::string_view what);

/// Writes the terms as JSON for parse_query_vector(). Their weights must be finite.
std::string query_vector_text(const std::vector<QueryTerm>& terms);

}  // namespace quern
