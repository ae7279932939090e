#pragma once
#include "quern/core/progress.hpp"
#include "quern/formats/exchange/inverted_sink.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// Hands an index to `sink`: lists in the byte order of their terms, then documents in docID order, decoded block by
/// block. Throws CorruptFile where the index contradicts itself, and what the sink throws.
void export_index(const IndexReader& index, InvertedSink& sink, Progress& progress);

}  // namespace quern
