#pragma once
#include "quern/formats/corpus/corpus_format.hpp"

namespace quern {

/// JSON objects, one a line, over several lines, or in an array: Anserini's and BEIR's corpora; see jsonl.md.
const CorpusFormat& jsonl_format();

}  // namespace quern
