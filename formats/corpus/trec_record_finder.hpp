#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "quern/formats/corpus/record_finder.hpp"

namespace quern {

/// Cuts TRECTEXT and TRECWEB files into records, <DOC> to </DOC>, in any case; the rules stand in trectext.md.
std::unique_ptr<RecordFinder> make_trec_record_finder(std::uint64_t max_record_bytes);

/// Whether a file that begins with `head` begins with a TREC record, behind white space, a byte order mark, comments,
/// declarations and the start tags of enclosing elements.
bool begins_with_trec_record(std::string_view head);

}  // namespace quern
