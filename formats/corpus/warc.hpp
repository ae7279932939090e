#pragma once
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

/// WARC 0.18 and 1.x, of which response records are documents: ClueWeb, Common Crawl; see warc.md.
const CorpusFormat& warc_format();

}  // namespace quern
