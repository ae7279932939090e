#pragma once
#include <string>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_weights.hpp"

namespace quern {

/// Parses a JSON object of any size without holding it: the same document, or bad record, as from one in memory.
ParsedRecord parse_json_in_pieces(const RecordText& record, RecordScratch& scratch, DocumentText& out);

/// What becomes of a record that is no JSON object, or has no docno.
ParsedRecord json_is_damaged(const std::string& why);
ParsedRecord json_without_docno(const JsonKeys& keys);
/// What is wrong with a record without weights.
WeightsProblem json_without_weights();
/// What becomes of a record with weights.
ParsedRecord json_with_weights(const WeightsProblem& problem, const DocumentText& out);

}  // namespace quern
