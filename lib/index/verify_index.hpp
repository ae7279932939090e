#pragma once
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/formats/texts_file.hpp"

namespace quern {

/// Checks an index beyond its checksums, in parallel: decodes every list and compares it with its block rows, upper
/// bounds and counts, frequencies with document lengths, docnos with their look-up. Throws CorruptFile, which names
/// file, section, and the list and block or the document.
void verify_index(const IndexReader& index, const Resources& resources);

/// Checks every byte of an index and of the files beside it: checksums first, which show where damage is, then
/// contradictions in what they hold. Throws CorruptFile with the place, and InvalidArgument if a file beside it belongs
/// to another index.
void verify_index_files(const IndexReader& index, const Resources& resources);

/// The same for the forward file at `path`, of an index.
void verify_forward(const std::string& path, const IndexReader& index, const Resources& resources);

/// The same for statistics, whatever index they lie beside.
void verify_statistics(const StatisticsReader& statistics, const Resources& resources);

/// The same for kept fields, whatever index they belong to.
void verify_fields(const FieldsReader& fields, const Resources& resources);

/// Checks texts beyond their checksums, in parallel, against the index that they belong to: decompresses every frame,
/// compares rows, sizes and counts, and each document's tokens with its length, unless other versions of libraries made
/// them. Throws CorruptFile, which names file, section, and the frame or the document; InvalidArgument if they are the
/// texts of another index.
void verify_texts(const TextsReader& texts, const IndexReader& index, const Resources& resources);

}  // namespace quern
