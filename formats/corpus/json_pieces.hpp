#pragma once
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

/// Parses a JSON object of any size without holding it: the same document, or bad record, as from one in memory.
ParsedRecord parse_json_in_pieces(const RecordText& record, RecordScratch& scratch, DocumentText& out);

}  // namespace quern
