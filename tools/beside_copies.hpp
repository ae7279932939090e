#pragma once
#include <span>

#include "quern/index/make_index.hpp"
#include "quern/index/shards/copy_beside.hpp"
#include "quern/io/atomic_output.hpp"

namespace quern::tools {

/// Writes beside the index that was just written to `out`, and is made of these documents of others, what lies beside
/// those: texts, kept fields, forward file.
SidecarReports copy_beside(std::span<const IndexPart> parts, const Resources& resources, AtomicOutput& out);

}  // namespace quern::tools
