#pragma once
#include <functional>
#include <string_view>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// Takes a place of a document: a term, or an empty text where a phrase ends.
using TokenVisitor = std::function<void(DocumentStream stream, std::string_view term)>;

/// Calls visit(stream, term) for the places of a document, in their order, a segment in memory at a time. Throws
/// CorruptFile if the document is damaged.
void for_each_token(const ForwardReader& forward, const IndexReader& index, docid_t docid, const TokenVisitor& visit);

}  // namespace quern
