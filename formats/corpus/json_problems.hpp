#pragma once
#include <string>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_weights.hpp"
#include "quern/formats/corpus/json_fields.hpp"

/// What is wrong with JSON records, whichever way they are read.
namespace quern {

/// What becomes of a record that is no JSON object, or has no docno.
ParsedRecord json_is_damaged(const std::string& why);
ParsedRecord json_without_docno(const JsonKeys& keys);
/// What is wrong with a record without weights.
WeightsProblem json_without_weights(const JsonKeys& keys);
/// What becomes of a record whose weights were read: it is bad if something is wrong with them.
ParsedRecord json_with_weights(const WeightsProblem& problem, const DocumentText& out);

}  // namespace quern
