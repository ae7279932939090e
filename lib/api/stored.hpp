#pragma once
#include "quern/api/index.hpp"

/// What an index stores of documents besides postings, for showing results.
namespace quern::api {

/// For each document the passage of its stored text that best shows why the query matches, on one line, as `quern
/// query` shows it. Throws Error: invalid_argument if the index was built without texts, or doesn't have a docID.
QUERN_API std::vector<std::string> snippets(const Index& index, std::string_view query,
                                            std::span<const std::uint32_t> docids);

/// A document's value of a kept field; monostate if it has none. Numbers are stored as doubles.
using StoredValue = std::variant<std::monostate, bool, double, std::string>;

/// The names of the fields that the index keeps (IndexOptions::keep_fields), in their order.
QUERN_API std::vector<std::string> kept_fields(const Index& index);
/// The value of a kept field for each document. Throws Error: invalid_argument for a field that the index doesn't keep,
/// or a docID that it doesn't have.
QUERN_API std::vector<StoredValue> kept_values(const Index& index, std::string_view field,
                                               std::span<const std::uint32_t> docids);

}  // namespace quern::api
