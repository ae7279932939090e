#include "cli/plan_files.hpp"

#include "formats/small_plan.hpp"

namespace quern::testing {

void write_plan(const std::string& index, const std::string& path, std::uint32_t last_blocks) {
  CachePlan plan = small_plan(IndexReader::open(index));
  plan.lists.back().blocks = last_blocks;
  write_plan_file(path, plan);
}

}  // namespace quern::testing
