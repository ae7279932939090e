#pragma once
#include <string>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"

namespace quern::tools {

/// Prints a document's tokens from the forward file: a line for each phrase, "stream<TAB>token token …", or a JSON
/// object with an array of phrases for each stream and the document's numbers.
void print_tokens(const IndexReader& index, const ForwardReader& forward, docid_t docid, bool json);

}  // namespace quern::tools
