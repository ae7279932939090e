#pragma once
#include <string>

#include "quern/formats/plan_file.hpp"
#include "quern/io/checksum.hpp"

#include "formats/container_writing.hpp"

/// Plan files for tests, written without a planner.
namespace quern::testing {

/// A plan for an index: one block of each of the lists 1 and 3.
inline CachePlan small_plan(const IndexReader& index) {
  CachePlan plan;
  plan.manifest.policy = "vfb";
  plan.manifest.budget_bytes = 1000;
  plan.manifest.max_admission = 0.5;
  plan.manifest.index_hash = hash_text(index.container().content_hash());
  plan.lists = {{1, 1, 8}, {3, 1, 16}};
  return plan;
}

inline void write_plan_file(const std::string& path, const CachePlan& plan) {
  File file = File::create(path);
  write_plan(file, plan);
}

/// Writes a plan to a temporary file in `folder` and opens it.
inline PlanReader plan_reader(const std::string& folder, const CachePlan& plan) {
  File file = File::anonymous(folder);
  write_plan(file, plan);
  return PlanReader(ContainerReader(shared(std::move(file)), FileKind::plan));
}

}  // namespace quern::testing
