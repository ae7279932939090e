#include "quern/gpu/store/plan_room.hpp"

#include <limits>

#include "quern/gpu/store/list_cache.hpp"

namespace quern::gpu {

PlanRoom plan_room(const QueryEngine& engine, const GpuMemoryOptions& memory) {
  const IndexSizes sizes = sizes_of(engine.index(), &engine);
  const std::uint64_t limit = memory.bytes.value_or(std::numeric_limits<std::uint64_t>::max());
  const MemoryDivision division = divide_memory(limit, sizes, memory.list_share, engine.index().name());
  if (division.whole_index) return {sizes.lists, std::nullopt, true};
  const ListArenas room = arenas_of(division).for_fronts();
  PlanRoom plan;
  plan.bytes = room.words * sizeof(std::uint32_t);
  if (!division.resident_rows) plan.rows = room.rows;
  return plan;
}

}  // namespace quern::gpu
