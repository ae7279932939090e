#pragma once
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

/// A first line of more bytes is no title.
inline constexpr std::size_t max_extracted_title_bytes = 1000;

/// Takes title and body out of text that was extracted from a page, as WET files have it: a line for each heading,
/// paragraph or item, the first of them the title. Each line is a phrase. There is no title where the first line is
/// longer than a title, or the only one.
void read_extracted_text(PieceSource& text, RecordScratch& scratch, DocumentText& out);

}  // namespace quern
