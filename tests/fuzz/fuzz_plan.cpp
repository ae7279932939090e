#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/plan_file.hpp"

#include "container_fuzzing.hpp"

/// For any contents of a plan file's sections, a loaded plan has ascending terms, no empty list, and correct sums.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  try {
    const PlanReader reader(
        ContainerReader(fuzz::container_around({data, size}, FileKind::plan, fuzz::plan_sections), FileKind::plan));
    const CachePlan plan = reader.load();
    std::uint64_t blocks = 0, bytes = 0, next_term = 0;
    for (const CachedList& list : plan.lists) {
      if (list.term < next_term || list.blocks == 0) std::abort();
      next_term = std::uint64_t{list.term} + 1;
      blocks += list.blocks;
      if (__builtin_add_overflow(bytes, list.bytes, &bytes)) std::abort();
    }
    if (plan.lists.size() != plan.manifest.lists || blocks != plan.manifest.cached_blocks ||
        bytes != plan.manifest.cached_bytes)
      std::abort();
    if (plan.manifest.block == 0 || !(plan.manifest.max_admission > 0 && plan.manifest.max_admission <= 1))
      std::abort();
  } catch (const Error&) {
  }
  return 0;
}
