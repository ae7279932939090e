#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/intersect/merge_find.hpp"

/// Methods of intersecting posting lists on a GPU, without scores: Quern's own, and methods of papers for comparison.
namespace quern {
namespace gpu {

/// The kernels that answer a batch.
enum class IntersectKernels : std::uint8_t { warps, merge_find, hash_segments, batched };

/// Which lists are unpacked into the GPU's memory by the first batch that needs them.
enum class Unpacking : std::uint8_t {
  none,
  frequent,  ///< those that queries use often, once that is cheaper: dense ones as a bit per document, others as docIDs
             ///< in buckets
  documents,  ///< all, as docIDs
  buckets,    ///< all, as docIDs with a directory of buckets
};

/// How the documents of a batch are copied from the GPU.
enum class ResultTransfer : std::uint8_t {
  packed,  ///< compacted on the GPU, then in one copy
  whole,   ///< in one copy of the queries' whole capacity: the lengths of their shortest lists
  single,  ///< in one copy per query
};

}  // namespace gpu

struct GpuIntersectionMethod {
  /// As --method takes it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  gpu::IntersectKernels kernels;
  gpu::Unpacking unpacking;
  /// Default of GpuIntersectionOptions::bucketing: whether a batch has queries with shortest lists of similar length.
  bool bucketing = false;
  /// Default of GpuIntersectionOptions::transfer.
  gpu::ResultTransfer transfer = gpu::ResultTransfer::packed;
  /// Whether a query's documents are contiguous before packing, so that every transfer is possible.
  bool any_transfer = false;
  /// Whether it uses GpuIntersectionOptions::levels.
  bool uses_levels = false;
};

struct GpuIntersectionOptions {
  unsigned gpu = 0;
  unsigned gpus = 1;                            ///< GPUs from number `gpu` on; 0: all
  std::size_t batch_queries = 4096;             ///< maximum queries per batch
  unsigned levels = 3;                          ///< of merge-find: levels of splitters, at most max_merge_find_levels
  std::optional<bool> bucketing;                ///< default: the method's own
  std::optional<gpu::ResultTransfer> transfer;  ///< default: the method's own
  std::uint64_t unpacked_bytes = 0;             ///< limit of GPU memory for unpacked lists; 0: half of what batches get
  gpu::GpuMemoryOptions memory = {};            ///< of each GPU
};

/// All methods, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<GpuIntersectionMethod>& all_gpu_intersection_methods();

/// Throws InvalidArgument, with all names, if no method has this name.
const GpuIntersectionMethod& gpu_intersection_method_named(std::string_view name);

/// Throws InvalidArgument if a number is out of its range, or if the method can't transfer results that way.
void check_intersection_options(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options);

/// The bucket of a query (Wu, Zhang, Ao, Wang, Liu, Wang: A Batched GPU Algorithm for Set Intersection, ISPAN 2009,
/// section IV) by the length of its shortest list: ten buckets of 1,000, then ten of 10,000; longer ones are in the
/// last.
unsigned length_bucket(std::uint64_t shortest);

}  // namespace quern
