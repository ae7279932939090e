#pragma once
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

/// Records <DOC> with sections of text: news and abstracts as TREC distributed them; see trectext.md.
const CorpusFormat& trectext_format();

}  // namespace quern
