#pragma once
#include "quern/formats/corpus/record_finder.hpp"

/// What trectext.md and trecweb.md share: records from <DOC> to </DOC>.
namespace quern {

/// Makes a finder of a file's TREC records.
std::unique_ptr<RecordFinder> make_trec_record_finder(const RecordLimits& limits);

/// Whether a file that begins with `head` begins with a TREC record, after white space, a byte order mark, comments,
/// declarations and the start tags of enclosing elements.
bool begins_with_trec_record(std::string_view head);

}  // namespace quern
