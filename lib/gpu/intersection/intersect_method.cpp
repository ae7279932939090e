#include "quern/gpu/intersection/intersect_method.hpp"

#include <algorithm>
#include <string>

#include "quern/core/named.hpp"

namespace quern {

using gpu::IntersectKernels;
using gpu::ResultTransfer;
using gpu::Unpacking;

const std::vector<GpuIntersectionMethod>& all_gpu_intersection_methods() {
  static const std::vector<GpuIntersectionMethod> methods = {
      {"adaptive",
       "unpacks lists that are asked for often, to bits or buckets; of others decodes only blocks that matter",
       IntersectKernels::warps, Unpacking::often_asked},
      {"block-skipping", "decodes only blocks that a document of the shorter lists may lie in; a block a warp",
       IntersectKernels::warps, Unpacking::none},
      {"merge-find", "finds these blocks by levels of splitters, a list after another (Ding et al.)",
       IntersectKernels::merge_find, Unpacking::none, false, ResultTransfer::packed, false, true},
      {"hash-segments", "unpacks all; each document is searched for in one bucket of each list (Wang et al.)",
       IntersectKernels::hash_segments, Unpacking::buckets, false, ResultTransfer::packed, true},
      {"batched", "unpacks all; binary search, scan and compaction, a query a thread block (Wu et al.)",
       IntersectKernels::batched, Unpacking::documents, true, ResultTransfer::whole, true},
  };
  return methods;
}

const GpuIntersectionMethod& gpu_intersection_method_named(std::string_view name) {
  return find_named(all_gpu_intersection_methods(), name, "GPU method of intersection");
}

void check_transfer(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options) {
  if (!method.any_transfer && options.transfer.value_or(ResultTransfer::packed) != ResultTransfer::packed)
    throw InvalidArgument(std::string(method.name) + " packs its results on the GPU, and transfers them no other way");
}

unsigned length_bucket(std::uint64_t shortest) {
  constexpr std::uint64_t fine = 1000, coarse = 10 * fine;
  if (shortest < coarse) return static_cast<unsigned>(shortest / fine);
  return static_cast<unsigned>(std::min<std::uint64_t>(10 + (shortest - coarse) / coarse, 19));
}

}  // namespace quern
