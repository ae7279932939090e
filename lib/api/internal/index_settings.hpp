#pragma once
#include "quern/api/index_builder.hpp"
#include "quern/index/make_index.hpp"

namespace quern::api {

/// A caller's options as the stages take them, but for what is read. Throws InvalidArgument for unknown names and
/// numbers out of range.
IndexSettings index_settings(const IndexOptions& options);

/// What the stages found, for callers.
IndexReport index_report(const IndexReports& reports);

}  // namespace quern::api
