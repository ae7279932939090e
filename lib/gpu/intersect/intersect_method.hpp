#pragma once
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/intersect/merge_find.hpp"

/// Methods of intersecting posting lists on a GPU, without scores: Quern's own, and methods of papers for comparison.
namespace quern {
namespace gpu {

/// The kernels that answer a batch.
enum class IntersectKernels : std::uint8_t { warps, merge_find, hash_segments, batched, serial };

/// Which lists the first batch that needs them unpacks into the GPU's memory.
enum class Unpacking : std::uint8_t {
  none,
  frequent,   ///< those used so often that it pays off: dense ones as a bit per document, others as docIDs in buckets
  documents,  ///< all, as docIDs
  buckets,    ///< all, as docIDs with a directory of buckets
};

/// How the documents of a batch are copied from the GPU.
enum class ResultTransfer : std::uint8_t {
  packed,  ///< compacted on the GPU, then in one copy
  whole,   ///< in one copy of all space for results, by the lengths of shortest lists
  single,  ///< in one copy per query
};

}  // namespace gpu

struct GpuIntersectionMethod {
  std::string_view name;         ///< that option --method takes
  std::string_view description;  ///< one line for help texts
  gpu::IntersectKernels kernels;
  gpu::Unpacking unpacking;
  /// Default of GpuIntersectionOptions::bucketing: whether to batch queries by the length of their shortest lists.
  bool bucketing = false;
  gpu::ResultTransfer transfer = gpu::ResultTransfer::packed;  ///< default of GpuIntersectionOptions::transfer
  /// Whether a query's documents are contiguous before packing, so every transfer is possible.
  bool any_transfer = false;
  bool uses_levels = false;  ///< whether the method uses GpuIntersectionOptions::levels
};

struct GpuIntersectionOptions {
  unsigned gpu = 0;
  unsigned gpus = 1;                            ///< GPUs from number `gpu` on; 0: all
  std::size_t batch_queries = 4096;             ///< maximum queries per batch
  unsigned levels = 3;                          ///< of merge-find: levels of splitters, at most max_merge_find_levels
  std::optional<bool> bucketing;                ///< default: the method's own
  std::optional<gpu::ResultTransfer> transfer;  ///< default: the method's own
  std::uint64_t unpacked_bytes = 0;             ///< limit of GPU memory for unpacked lists; 0: half of the batches'
  gpu::GpuMemoryOptions memory = {};            ///< of each GPU
};

/// All methods, in the order of help texts; the first is the default. Add methods here.
const std::vector<GpuIntersectionMethod>& all_gpu_intersection_methods();

/// The method of this name. Throws InvalidArgument, which lists all names, if there is none.
const GpuIntersectionMethod& gpu_intersection_method_named(std::string_view name);

/// Returns the method. Throws InvalidArgument if a number is out of range or it does not support the transfer.
const GpuIntersectionMethod& check_intersection_options(const GpuIntersectionMethod& method,
                                                        const GpuIntersectionOptions& options);

/// The bucket of a query (Wu, Zhang, Ao, Wang, Liu, Wang: A Batched GPU Algorithm for Set Intersection, ISPAN 2009,
/// section IV) by the length of its shortest list: ten buckets of 1,000, then ten of 10,000, the last without limit.
unsigned length_bucket(std::uint64_t shortest);

}  // namespace quern
