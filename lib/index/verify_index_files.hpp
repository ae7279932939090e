#pragma once
#include <string>

#include "quern/core/resources.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/statistics_file.hpp"

namespace quern {

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

}  // namespace quern
