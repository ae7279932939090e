#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/gpu/device/tuning.hpp"

/// Measures the speed at which a GPU decodes posting lists to its memory. Declared without CUDA, like DeviceIndex.
namespace quern::gpu {

/// Lists of at least `from` and fewer than `to` postings; no maximum if `to` is 0.
struct ListLengths {
  std::uint64_t from = 0, to = 0;
};

struct DecodeBenchOptions {
  unsigned gpu = 0;
  std::vector<ListLengths> groups = {{100000, 0}};      ///< of lists decoded together
  std::uint64_t max_postings = std::uint64_t{1} << 31;  ///< per group; further lists are left out
  unsigned repeats = 7;
};

/// Throws InvalidArgument if a number is out of range.
inline void check_decode_options(const DecodeBenchOptions& options) {
  check_range("the GPU's number", options.gpu, 0, max_gpus);
  check_range("postings", options.max_postings, 1, std::uint64_t{1} << 40);
  check_range("repeats", options.repeats, 1, 1000);
}

struct DecodeFigures {
  ListLengths lengths;
  std::uint64_t lists = 0, postings = 0, blocks = 0;
  std::uint64_t coded_bytes = 0;      ///< of the lists' words and block rows
  double docids_us = 0, both_us = 0;  ///< medians per pass over all lists: docIDs only; docIDs and frequencies
  /// DocIDs without prefix sums: the documents' distances (Ding et al., figure 4, without prefix).
  double distances_us = 0;
  double copy_bytes_per_s = 0;  ///< device to device; counts bytes read and written
  /// Some of the lists, decoded by one launch each: the cost of passing short lists to a GPU one at a time (Ding et
  /// al., figure 4). DocIDs only.
  std::uint64_t single_lists = 0, single_postings = 0;
  double single_us = 0;
};

/// Decodes the lists of each group `repeats` times, after a pass that fills the output with garbage and compares the
/// decoded postings with the CPU's. Skips lists of a single block, which have no rows, and groups without lists. Throws
/// Error if outputs differ, CudaError if the GPU fails, InvalidArgument if no group has a list.
std::vector<DecodeFigures> measure_decoding(const IndexReader& index, const DecodeBenchOptions& options,
                                            Progress& progress);

// Measures the speed at which a GPU finds the elements of an ascending list in another, both decoded: figure 6 of Ding,
// He, Yan, Suel: Using Graphics Processors for High Performance IR Query Processing (WWW 2009). Declared without CUDA,
// like DeviceIndex.

struct MergeFindBenchOptions {
  unsigned gpu = 0;
  unsigned repeats = 7;
  std::uint64_t seed = 1;
};

/// Throws InvalidArgument if a number is out of range.
inline void check_merge_find_options(const MergeFindBenchOptions& options) {
  check_range("the GPU's number", options.gpu, 0, max_gpus);
  check_range("repeats", options.repeats, 1, 1000);
}

/// The lengths of two lists, that of the elements to find first, and the times.
struct MergeFindFigures {
  std::uint32_t elements = 0, in = 0;
  std::vector<double> us;  ///< by levels of splitters, from none to max_merge_find_levels; medians
};

/// Draws two lists of each pair of lengths from the seed, with even gaps, of mean 16 in the longer one and over the
/// same docID range in the other; finds all elements with each number of levels, compares with the CPU, then measures.
/// Throws Error if they differ, CudaError if the GPU fails, InvalidArgument if a list is empty or too long.
std::vector<MergeFindFigures> measure_merge_find(std::span<const MergeFindFigures> lengths,
                                                 const MergeFindBenchOptions& options, Progress& progress);

}  // namespace quern::gpu
