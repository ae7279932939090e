#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Queries whose terms come with weights, as models of learned sparse retrieval give them; see query_file.md.
namespace quern {

/// A term as an index has it, and the weight that takes the place of its occurrences in the query.
struct QueryTerm {
  std::string term;
  double weight = 1;
  bool operator==(const QueryTerm&) const = default;
};

/// The terms of a JSON object {"term": weight, …}, in its order. Throws InvalidArgument, with `what`, if `json` is
/// something else, or has an empty term, a term twice, or a weight that is not a number or is negative.
std::vector<QueryTerm> parse_query_vector(std::string_view json, std::string_view what);

/// The JSON object that parse_query_vector() reads these terms from. Their weights must be finite.
std::string query_vector_text(const std::vector<QueryTerm>& terms);

}  // namespace quern
