#pragma once
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

/// Records <DOC> with a web page and its HTTP header in DOCHDR: WT10g, .GOV, GOV2; see trecweb.md.
const CorpusFormat& trecweb_format();

}  // namespace quern
