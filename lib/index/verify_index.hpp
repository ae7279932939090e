#pragma once
#include "quern/formats/fields_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"
#include "quern/formats/texts_file.hpp"

namespace quern {

/// Checks an index's contents, in addition to checksums, in parallel: decodes every list and compares it with its block
/// rows, upper bounds and counts, frequencies with document lengths, docnos with their look-up. Throws CorruptFile with
/// file, section, and the list and block or the document.
void verify_index(const IndexReader& index, const Resources& resources);

/// Checks every byte of an index and its sidecar files: checksums first, which locate damage, then the contents. Throws
/// CorruptFile with the place, also if a file is missing that the manifest names, and InvalidArgument if a sidecar file
/// belongs to another index.
void verify_index_files(const IndexReader& index, const Resources& resources);

/// Checks the forward file of an index, at `path`, in the same way.
void verify_forward(const std::string& path, const IndexReader& index, const Resources& resources);

/// Checks statistics, without an index.
void verify_statistics(const StatisticsReader& statistics, const Resources& resources);

/// Checks kept fields, without their index.
void verify_fields(const FieldsReader& fields, const Resources& resources);

/// Checks the contents of an index's texts, in addition to checksums, in parallel: decompresses every frame, compares
/// rows, sizes and counts, and each document's tokens with its length, unless library versions differ. Throws
/// CorruptFile with file, section, and the frame or document; InvalidArgument if the texts belong to another index.
void verify_texts(const TextsReader& texts, const IndexReader& index, const Resources& resources);

}  // namespace quern
