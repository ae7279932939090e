#pragma once
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

/// Parses a JSON object of any size in constant memory. The document or error is the same as for an object in memory.
ParsedRecord parse_json_in_pieces(const RecordText& record, RecordScratch& scratch, DocumentText& out);

}  // namespace quern
