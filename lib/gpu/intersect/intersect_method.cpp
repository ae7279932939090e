#include "quern/gpu/intersect/intersect_method.hpp"

#include "quern/gpu/device/tuning.hpp"

namespace quern {

using gpu::IntersectKernels;
using gpu::ResultTransfer;
using gpu::Unpacking;

const std::vector<GpuIntersectionMethod>& all_gpu_intersection_methods() {
  static const std::vector<GpuIntersectionMethod> methods = {
      {"adaptive", "unpacks frequently used lists to bits or buckets; decodes only the needed blocks of the others",
       IntersectKernels::warps, Unpacking::frequent},
      {"block-skipping", "decodes only blocks that may contain a document of the shorter lists; a block per warp",
       IntersectKernels::warps, Unpacking::none},
      {"merge-find", "as block-skipping, with blocks found by levels of splitters, list by list (Ding et al. 2009)",
       IntersectKernels::merge_find, Unpacking::none, false, ResultTransfer::packed, false, true},
      {"hash-segments", "unpacks all lists; searches for each document in one bucket of each list (Wang et al. 2017)",
       IntersectKernels::hash_segments, Unpacking::buckets, false, ResultTransfer::packed, true},
      {"batched", "unpacks all lists; binary search, scan and compaction, a query per thread block (Wu et al. 2009)",
       IntersectKernels::batched, Unpacking::documents, true, ResultTransfer::whole, true},
      {"serial", "as batched, one list after another on the whole GPU (the serial model of Wu et al. 2009)",
       IntersectKernels::serial, Unpacking::documents, false, ResultTransfer::whole, true},
  };
  return methods;
}

const GpuIntersectionMethod& gpu_intersection_method_named(std::string_view name) {
  return find_named(all_gpu_intersection_methods(), name, "GPU intersection method");
}

const GpuIntersectionMethod& check_intersection_options(const GpuIntersectionMethod& method,
                                                        const GpuIntersectionOptions& options) {
  check_range("the GPU's number", options.gpu, 0, gpu::max_gpus);
  check_range("GPUs", options.gpus, 0, gpu::max_gpus);
  check_range("queries per batch", options.batch_queries, 1, gpu::max_batch_queries);
  check_range("levels", options.levels, 0, gpu::max_merge_find_levels);
  if (!method.any_transfer && options.transfer.value_or(ResultTransfer::packed) != ResultTransfer::packed)
    throw InvalidArgument("{} always packs its results on the GPU; it supports no other transfer", method.name);
  return method;
}

unsigned length_bucket(std::uint64_t shortest) {
  constexpr std::uint64_t fine = 1000, coarse = 10 * fine;
  if (shortest < coarse) return static_cast<unsigned>(shortest / fine);
  return static_cast<unsigned>(std::min<std::uint64_t>(10 + (shortest - coarse) / coarse, 19));
}

}  // namespace quern
