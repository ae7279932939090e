#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "quern/gpu/intersection/merge_find.hpp"

/// Ways to intersect posting lists on a GPU, without scores. Those of the papers stand beside our own.
namespace quern {
namespace gpu {

/// The kernels that answer a batch.
enum class IntersectKernels : std::uint8_t { warps, merge_find, hash_segments, batched };

/// Which lists stand unpacked in the GPU's memory, from the first batch that asks for them on.
enum class Unpacking : std::uint8_t {
  none,
  often_asked,  ///< once it is cheaper: dense ones as a bit for each document, others as docIDs in buckets
  documents,    ///< all, as docIDs
  buckets,      ///< all, as docIDs with a directory of buckets
};

/// How the documents of a batch come from the GPU.
enum class ResultTransfer : std::uint8_t {
  packed,  ///< moved together on the GPU, then in one copy
  whole,   ///< in one copy of all room that the queries had, as many documents as their shortest lists
  single,  ///< in one copy for each query
};

}  // namespace gpu

struct GpuIntersectionMethod {
  /// As --method takes it.
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  gpu::IntersectKernels kernels;
  gpu::Unpacking unpacking;
  /// Batches are made of queries with shortest lists of like length, if nothing else is asked for.
  bool bucketing = false;
  /// How results come back, if nothing else is asked for.
  gpu::ResultTransfer transfer = gpu::ResultTransfer::packed;
  /// A query's documents stand together in its room, so that all ways to transfer them can be had.
  bool any_transfer = false;
  /// Whether GpuIntersectionOptions::levels counts for it.
  bool uses_levels = false;
};

struct GpuIntersectionOptions {
  unsigned gpu = 0;
  unsigned gpus = 1;                            ///< GPUs from number `gpu` on; 0: all
  std::size_t batch_queries = 4096;             ///< at most, on each GPU
  unsigned levels = 3;                          ///< merge-find alone: levels of splitters, up to max_merge_find_levels
  std::optional<bool> bucketing;                ///< the method's own where nothing is said
  std::optional<gpu::ResultTransfer> transfer;  ///< likewise
  std::uint64_t unpacked_bytes = 0;  ///< of the GPU's memory for unpacked lists, at most; 0: half of what is free
};

/// All methods, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<GpuIntersectionMethod>& all_gpu_intersection_methods();

/// Throws InvalidArgument, with the names there are, where no method is called so.
const GpuIntersectionMethod& gpu_intersection_method_named(std::string_view name);

/// Throws InvalidArgument where the method can't transfer results that way.
void check_transfer(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options);

/// The bucket of a query (Wu, Zhang, Ao, Wang, Liu, Wang: A Batched GPU Algorithm for Set Intersection, ISPAN 2009,
/// section IV) by the length of its shortest list: ten buckets of 1,000, then ten of 10,000; longer ones are in the
/// last.
unsigned length_bucket(std::uint64_t shortest);

}  // namespace quern
