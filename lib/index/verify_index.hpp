#pragma once
#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// Checks an index beyond its checksums, in parallel: decodes every list and compares it with its block rows, upper
/// bounds and counts, frequencies with document lengths, docnos with their look-up. Throws CorruptFile, which names
/// file, section, and the list and block or the document.
void verify_index(const IndexReader& index, const Resources& resources);

}  // namespace quern
