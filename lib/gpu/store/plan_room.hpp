#pragma once
#include <cstdint>
#include <optional>

#include "quern/gpu/device/index_sizes.hpp"

/// The room for a plan's lists in a GPU's memory, found on any machine. Host code.
namespace quern::gpu {

struct PlanRoom {
  std::uint64_t bytes = 0;            ///< for fronts of lists
  std::optional<std::uint64_t> rows;  ///< for the block rows of these lists; none: the rows of all lists are there
  bool whole_index = false;           ///< all lists fit, so that queries need no plan
};

/// What of `memory` the engine leaves to a plan for ranked queries, once it has taken tables, rows, staging and the
/// memory of batches. A share of the lists is taken of a GPU that has room for all else. Throws GpuOutOfMemory if too
/// little is left for one batch.
PlanRoom plan_room(const QueryEngine& engine, const GpuMemoryOptions& memory);

}  // namespace quern::gpu
