#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/core/check_range.hpp"
#include "quern/core/resources.hpp"
#include "quern/gpu/device/tuning.hpp"

/// Measures how fast a GPU finds the elements of a rising list in another, both decoded: figure 6 of Ding, He, Yan,
/// Suel: Using Graphics Processors for High Performance IR Query Processing (WWW 2009). Declared without CUDA, as
/// DeviceIndex is.
namespace quern::gpu {

struct MergeFindBenchOptions {
  unsigned gpu = 0;
  unsigned repeats = 7;
  std::uint64_t seed = 1;
};

/// Throws InvalidArgument if a number is out of its range.
inline void check_merge_find_options(const MergeFindBenchOptions& options) {
  check_range("the number of the GPU", options.gpu, 0, max_gpus);
  check_range("repeats", options.repeats, 1, 1000);
}

/// The lengths of two lists, the one whose elements are looked up first, and the times.
struct MergeFindFigures {
  std::uint32_t elements = 0, in = 0;
  std::vector<double> us;  ///< by levels of splitters, from none to max_merge_find_levels; medians
};

/// Draws two lists of each pair of lengths from the seed, with even gaps of a mean of 16 in the longer one and over the
/// same docIDs in the other; looks up all elements with each number of levels, compares with the CPU, then measures.
/// Throws Error if they differ, CudaError if the GPU fails, InvalidArgument if a list is empty or too long.
std::vector<MergeFindFigures> measure_merge_find(std::span<const MergeFindFigures> lengths,
                                                 const MergeFindBenchOptions& options, Progress& progress);

}  // namespace quern::gpu
