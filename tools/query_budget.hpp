#pragma once
#include <cstddef>
#include <cstdint>

#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/search/query_engine.hpp"

#include "gpu_options.hpp"

/// How the memory of `quern query` is divided.
namespace quern::tools {

/// What queries take memory for.
struct QueryNeeds {
  std::size_t k;  ///< results of the first stage
  Scorer scorer;
  QueryDevice device;
  bool second_stage;
};

/// Parts of --memory, in bytes.
struct QueryBudget {
  std::uint64_t for_queries;       ///< besides an engine's tables, results, and what is pinned for GPUs
  std::uint64_t for_second_stage;  ///< besides the results
};

/// Refuses what can't work with the memory budget, before any query is read. `gpu_memory` takes its part.
QueryBudget query_budget(const QueryNeeds& needs, const IndexReader& index, const Resources& resources,
                         GpuMemoryPlan& gpu_memory);

}  // namespace quern::tools
