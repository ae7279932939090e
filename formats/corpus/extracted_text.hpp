#pragma once
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

/// A longer first line isn't a title.
inline constexpr std::size_t max_extracted_title_bytes = 1000;

/// Reads title and body from text extracted from a page, as in WET files: one line per heading, paragraph or item. Each
/// line is a phrase. The first line is the title unless it is too long or the only one.
void read_extracted_text(PieceSource& text, RecordScratch& scratch, DocumentText& out);

}  // namespace quern
