#pragma once
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/rankers/ranker_model.hpp"

#include "figures.hpp"

/// What `quern inspect` shows of learned models, and of a document's tokens.
namespace quern::tools {

/// Whether a file looks like a learned model: by its first bytes, decompressed.
bool is_model_file(const std::string& path);

/// What a learned model consists of. `as_lines`: with its features and layers by name, for people.
Json model_json(const RankerModel& model, bool as_lines);

/// Prints a document's tokens from the forward file: a line for each phrase, "stream<TAB>token token …", or a JSON
/// object with an array of phrases for each stream and the document's numbers.
void print_tokens(const IndexReader& index, const ForwardReader& forward, docid_t docid, bool json);

}  // namespace quern::tools
