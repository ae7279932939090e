#pragma once
#include "quern/core/resources.hpp"
#include "quern/formats/texts_file.hpp"

namespace quern {

/// Checks texts beyond their checksums, in parallel, against the index that they belong to: decompresses every frame,
/// compares rows, sizes and counts, and each document's tokens with its length, unless other versions of libraries made
/// them. Throws CorruptFile, which names file, section, and the frame or the document; InvalidArgument if they are the
/// texts of another index.
void verify_texts(const TextsReader& texts, const IndexReader& index, const Resources& resources);

}  // namespace quern
