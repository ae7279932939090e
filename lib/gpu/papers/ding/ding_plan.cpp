#include "quern/gpu/papers/ding/ding_plan.hpp"

namespace quern::gpu {
namespace {

/// Maximum queries per pass: a large GPU takes the results of this many at the same time.
constexpr std::uint32_t max_pass_queries = 1024;

/// Number of leaves of an intersection with this shortest list.
std::uint32_t leaves_of(const ListView& list, std::uint32_t block_size) {
  if (list.raw != 0) return list.df;
  const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{list.rows_end()} * block_size, list.df);
  const std::uint64_t first = std::uint64_t{list.begin_block} * block_size;
  return end > first ? static_cast<std::uint32_t>(end - first) : 1;  // no posting is in the window
}

}  // namespace

PassPlan plan_passes(const QueryBatch& batch, std::span<const ListView> lists, bool intersect, std::uint32_t documents,
                     std::uint64_t max_leaves) {
  const std::uint32_t block_size = batch.engine().index().block_size();
  PassPlan plan;
  std::uint64_t nodes = 0, tops = 0;
  for (std::uint32_t i = 0; i < batch.queries.size(); ++i) {
    const BatchQuery& query = batch.queries[i];
    const std::uint32_t leaves =
        intersect ? leaves_of(lists[batch.terms[query.first_term].list], block_size) : documents;
    const std::uint64_t padded = padded_leaves(leaves);
    if (plan.passes.empty() || plan.passes.back().num_queries == max_pass_queries ||
        plan.passes.back().leaves + padded > max_leaves) {
      plan.passes.push_back({i, 0, 0});
      nodes = tops = 0;
    }
    PassPlan::Pass& pass = plan.passes.back();
    plan.queries.push_back({pass.leaves, nodes, leaves, static_cast<std::uint32_t>(tops)});
    ++pass.num_queries;
    pass.leaves += padded;
    nodes += padded / tree_degree;
    tops += padded_leaves(padded / tree_degree) / tree_degree;
    plan.leaves = std::max(plan.leaves, pass.leaves);
    plan.nodes = std::max(plan.nodes, nodes);
    plan.tops = std::max(plan.tops, tops);
  }
  return plan;
}

}  // namespace quern::gpu
